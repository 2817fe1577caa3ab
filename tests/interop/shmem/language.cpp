// The headers in C++: the same functions, complex numbers of C++ and of C, null tokens, and handlers that are C++
// functions.

#include <complex.h>  // C's, with macros that have short names

extern "C" {  // as older programs do
#include <shmem.h>
}
#include <shmemx.h>

#include <complex>
#include <vector>

#include "../check.h"

namespace {

std::vector<int> seen;
int counter;

void collect(void* buffer, std::size_t bytes, int, shmemx_am_token_t token) {
  const int* const numbers = static_cast<int*>(buffer);
  seen.insert(seen.end(), numbers, numbers + bytes / sizeof(int));
  if (token == NULL) std::exit(1);
}

}  // namespace

int main() {
  shmem_init();
  const int pes = shmem_n_pes();
  shmem_int_atomic_inc(&counter, pes - 1);
  static std::complex<double> source(1, shmem_my_pe()), sum;
  shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, &sum, &source, 1);
  CHECK(sum == std::complex<double>(pes, pes * (pes - 1) / 2));

  static float _Complex c_source, c_results[3], work;
  reinterpret_cast<float(&)[2]>(c_source)[0] = 2;
  shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, &c_results[0], &c_source, 1);
  shmem_complexf_sum_to_all(&c_results[1], &c_source, 1, 0, 0, pes, &work, nullptr);
  shmem_complexf_prod_reduce(SHMEM_TEAM_WORLD, &c_results[2], const_cast<const float _Complex*>(&c_source), 1);
  for (int i = 0; i < 3; ++i) {
    const float* const parts = reinterpret_cast<float*>(&c_results[i]);
    CHECK(parts[0] == (i < 2 ? 2 * pes : 1 << pes) && parts[1] == 0);
  }

  shmemx_am_attach(1, collect);
  const std::vector<int> numbers(100, shmem_my_pe());
  shmemx_am_request(0, 1, numbers.data(), numbers.size() * sizeof(int));
  shmem_barrier_all();
  CHECK(shmem_my_pe() != 0 || seen.size() == 100u * pes);
  CHECK(shmem_int_g(&counter, pes - 1) == pes);
  shmem_finalize();
}
