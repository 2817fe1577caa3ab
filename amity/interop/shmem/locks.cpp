/// Locks: tickets, so that those who wait get them in the order in which they came.
///
/// A lock is a long at the same place of all PEs. The one that counts is on a PE that its address decides. Its lower
/// half is the ticket that is served, its upper half the next one to be drawn.

#include <atomic>
#include <cstdint>

#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

static_assert(sizeof(long) == 8);

constexpr std::uint64_t one_ticket = std::uint64_t{1} << 32;

std::uint32_t next_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t served_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

std::atomic_ref<std::uint64_t> word_of(const char* call, volatile long* lock) {
  running(call).make_progress();
  auto* const own = reinterpret_cast<std::uint64_t*>(const_cast<long*>(lock));
  const auto at = reinterpret_cast<std::uintptr_t>(own);
  const std::uintptr_t offset = self.heap.holds(at) ? at - self.heap.first : at - self.statics.first;
  const int home = static_cast<int>(offset / sizeof(long) % static_cast<unsigned>(self.pes));
  return std::atomic_ref(*reach(call, own, home));
}

}  // namespace

AMITY_SHMEM_DEFINE(void, set_lock, (volatile long* lock)) {
  const auto word = word_of("shmem_set_lock", lock);
  const std::uint32_t mine = next_of(word.fetch_add(one_ticket));
  self.joined->wait([&] { return served_of(word.load(std::memory_order_acquire)) == mine; });
}

AMITY_SHMEM_DEFINE(void, clear_lock, (volatile long* lock)) {
  const auto word = word_of("shmem_clear_lock", lock);
  std::uint64_t before = word.load(std::memory_order_relaxed);
  do {
    if (next_of(before) == served_of(before)) {
      fail("shmem_clear_lock", "the lock is not set", "clear a lock once, on the PE that has set it");
    }
    // The lower half goes around without a carry into the upper.
  } while (!word.compare_exchange_weak(before, (before & ~(one_ticket - 1)) | (served_of(before) + 1u)));
}

AMITY_SHMEM_DEFINE(int, test_lock, (volatile long* lock)) {
  const auto word = word_of("shmem_test_lock", lock);
  std::uint64_t before = word.load(std::memory_order_relaxed);
  if (next_of(before) != served_of(before)) {
    self.joined->look();
    return 1;
  }
  return word.compare_exchange_strong(before, before + one_ticket) ? 0 : 1;
}
