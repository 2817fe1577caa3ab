#include "amity/fabric/shm/doorbell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace amity::fabric::shm {
namespace {

long membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0); }

// Ranks of one job are either threads of one process or processes; the futex word is shared memory in both cases.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

doorbell::doorbell() : wakers_fence_(membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0) {}

void doorbell::announce(door& own) const {
  own.sleeping.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in ring()
  if (!wakers_fence_) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void doorbell::sleep(door& own, std::uint64_t timeout_ns) const {
  constexpr std::uint64_t second = 1'000'000'000;
  const std::uint64_t bounded = std::min(timeout_ns, 3600 * second);
  const timespec timeout{.tv_sec = static_cast<std::time_t>(bounded / second),
                         .tv_nsec = static_cast<long>(bounded % second)};
  // A spurious return is as good as a ring: the caller looks for events in any case.
  futex(own.sleeping, FUTEX_WAIT, 1, &timeout);
  cancel(own);
}

void doorbell::wake(door& target) {
  if (target.sleeping.exchange(0, std::memory_order_relaxed) != 0) futex(target.sleeping, FUTEX_WAKE, 1, nullptr);
}

}  // namespace amity::fabric::shm
