/// Locks: tickets, so that those who wait get them in the order in which they came.
///
/// A lock is a long at the same place of all PEs. The one that counts is on a PE that its address decides. Its lower
/// half is the ticket that is served, its upper half the next one to be drawn.

#include <cstdint>

#include <fmt/format.h>

#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/job.hpp"
#include "amity/interop/shmem/remote_word.hpp"

using namespace amity::shmem;

namespace {

static_assert(sizeof(long) == 8);

constexpr std::uint64_t one_ticket = std::uint64_t{1} << 32;

std::uint32_t next_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t served_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

/// The word that counts, on its home.
struct lock_word {
  const char* call;
  std::uint64_t* word;
  int home;

  lock_word(const char* calling, volatile long* lock)
      : call(calling), word(reinterpret_cast<std::uint64_t*>(const_cast<long*>(lock))) {
    running(call).make_progress();
    const auto at = reinterpret_cast<std::uintptr_t>(word);
    const std::uintptr_t offset = self.heap.holds(at) ? at - self.heap.first : at - self.statics.first;
    home = static_cast<int>(offset / sizeof(long) % static_cast<unsigned>(self.pes));
  }

  std::uint64_t load() const { return fetch_word<load_word>(call, word, home); }
  std::uint64_t draw() const { return fetch_word<add_to_word>(call, word, home, one_ticket); }
  /// What was there before.
  std::uint64_t exchange(std::uint64_t expected, std::uint64_t value) const {
    return fetch_word<compare_swap_word>(call, word, home, value, expected);
  }
};

}  // namespace

AMITY_SHMEM_DEFINE(void, set_lock, (volatile long* lock)) {
  const lock_word word("shmem_set_lock", lock);
  held_locks& held = self.joined->locks();
  if (held.has_of_this_thread(lock)) {
    fail("shmem_set_lock", fmt::format("this PE holds the lock at {} already", fmt::ptr(word.word)).c_str(),
         "clear it first, or use shmem_test_lock");
  }
  const std::uint32_t mine = next_of(word.draw());
  self.joined->wait(
      [&] { return served_of(word.load()) == mine; },
      [&] { return fmt::format("shmem_set_lock: the lock at {} is to be cleared", fmt::ptr(word.word)); });
  held.add(lock);
}

AMITY_SHMEM_DEFINE(void, clear_lock, (volatile long* lock)) {
  const lock_word word("shmem_clear_lock", lock);
  // What was done under the lock is seen by whoever gets it next, wherever that is.
  if (self.far != nullptr) self.far->quiet();
  std::uint64_t before = word.load();
  if (!self.joined->locks().remove(lock)) {
    const char* const state = next_of(before) == served_of(before) ? "not set" : "held by another PE";
    fail("shmem_clear_lock", fmt::format("the lock at {} is {}", fmt::ptr(word.word), state).c_str(),
         "clear a lock once, on the PE that has set it");
  }
  for (;;) {
    // The lower half goes around without a carry into the upper.
    const std::uint64_t found = word.exchange(before, (before & ~(one_ticket - 1)) | (served_of(before) + 1u));
    if (found == before) return;
    before = found;
  }
}

AMITY_SHMEM_DEFINE(int, test_lock, (volatile long* lock)) {
  const lock_word word("shmem_test_lock", lock);
  const std::uint64_t before = word.load();
  if (next_of(before) != served_of(before)) {
    self.joined->look();
    return 1;
  }
  if (word.exchange(before, before + one_ticket) != before) return 1;
  self.joined->locks().add(lock);
  return 0;
}
