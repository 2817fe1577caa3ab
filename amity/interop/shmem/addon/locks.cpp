/// Locks: tickets, so that those who wait get them in the order in which they came, and run handlers meanwhile.
///
/// The other library's own would wait in there. The long that counts is PE 0's: its lower half is the ticket that is
/// served, its upper half the next one to be drawn.

#include <cstdint>

#include "amity/interop/shmem/addon/job.hpp"

AMITY_SHMEM_PROFILING(long_atomic_compare_swap);
AMITY_SHMEM_PROFILING(long_atomic_fetch);
AMITY_SHMEM_PROFILING(long_atomic_fetch_add);
AMITY_SHMEM_PROFILING(quiet);

using namespace amity::shmem::addon;

namespace {

static_assert(sizeof(long) == 8);

constexpr long one_ticket = 1L << 32;
constexpr int home = 0;

std::uint32_t next_of(long word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t served_of(long word) { return static_cast<std::uint32_t>(word); }

long* word_of(const char* call, volatile long* lock) {
  running(call).look();
  return const_cast<long*>(lock);
}

}  // namespace

extern "C" {

void shmem_set_lock(volatile long* lock) {
  long* const word = word_of("shmem_set_lock", lock);
  amity::shmem::held_locks& held = self.joined->locks();
  if (held.has_of_this_thread(lock)) {
    fail("shmem_set_lock", "this PE holds the lock already", "clear it first, or use shmem_test_lock");
  }
  const std::uint32_t mine = next_of(pshmem_long_atomic_fetch_add(word, one_ticket, home));
  self.joined->wait([&] { return served_of(pshmem_long_atomic_fetch(word, home)) == mine; },
                    [] { return "shmem_set_lock: the lock is to be cleared"; });
  held.add(lock);
}

void shmem_clear_lock(volatile long* lock) {
  long* const word = word_of("shmem_clear_lock", lock);
  pshmem_quiet();
  long found = pshmem_long_atomic_fetch(word, home);
  if (!self.joined->locks().remove(lock)) {
    fail("shmem_clear_lock",
         next_of(found) == served_of(found) ? "the lock is not set" : "the lock is held by another PE",
         "clear a lock once, on the PE that has set it");
  }
  for (;;) {
    // The lower half goes around without a carry into the upper.
    const long next = (found & ~(one_ticket - 1)) | static_cast<long>(served_of(found) + 1u);
    const long before = pshmem_long_atomic_compare_swap(word, found, next, home);
    if (before == found) return;
    found = before;
  }
}

int shmem_test_lock(volatile long* lock) {
  long* const word = word_of("shmem_test_lock", lock);
  const long found = pshmem_long_atomic_fetch(word, home);
  if (next_of(found) != served_of(found)) return 1;
  if (pshmem_long_atomic_compare_swap(word, found, found + one_ticket, home) != found) return 1;
  self.joined->locks().add(lock);
  return 0;
}
}
