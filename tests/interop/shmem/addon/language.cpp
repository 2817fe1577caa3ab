// The header in C++, over that of another OpenSHMEM, whose own extensions stay.

#include <shmem.h>
#include <shmemx.h>

#include <vector>

#include "tests/interop/check.h"

namespace {

std::vector<int> seen;

void collect(void* buffer, std::size_t bytes, int, shmemx_am_token_t token) {
  const int* const numbers = static_cast<int*>(buffer);
  seen.insert(seen.end(), numbers, numbers + bytes / sizeof(int));
  if (token == NULL) std::exit(1);
}

void nothing(void*, std::size_t, int, shmemx_am_token_t) {}

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  shmemx_am_attach(1, collect);
  shmemx_am_attach(2, nothing);
  const std::vector<int> numbers(100, me);
  shmemx_am_request(0, 1, numbers.data(), numbers.size() * sizeof(int));
  shmem_barrier_all();
  CHECK(me != 0 || seen.size() == 100u * pes);
#ifdef OSHMEM_SHMEMX_H
  static std::int32_t word;
  shmemx_int32_p(&word, me, me);
  shmem_quiet();
  CHECK(shmemx_int32_g(&word, me) == me);
#endif
  // A PE that returns has come to its end.
  shmemx_am_request((me + 1) % pes, 2, &me, sizeof me);
}
