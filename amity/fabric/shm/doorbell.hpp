#pragma once

/// Sleeping and waking of ranks that share memory.
///
/// The usual store-then-load handshake between a sleeper and a waker needs a full fence on both sides. Here the sleeper
/// pays for both: before it sleeps it asks the kernel for a barrier on all running threads of the job
/// (membarrier(2), GLOBAL_EXPEDITED), so a waker only reads a flag. Where the kernel has no such barrier, wakers fence.

#include <cstdint>

#include "amity/fabric/shm/layout.hpp"

namespace amity::fabric::shm {

class doorbell {
 public:
  doorbell();

  /// Wakes the owner of `target` if it sleeps. Call after publishing what it waits for.
  void ring(door& target) const {
    if (wakers_fence_) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce()
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with the membarrier in announce()
    }
    if (target.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake(target);
  }

  /// Announces that the caller is about to sleep. It must look for events once more after this call, and then call
  /// `sleep` or `cancel`.
  void announce(door& own) const;

  /// Sleeps until the door is rung or `timeout_ns` has passed.
  void sleep(door& own, std::uint64_t timeout_ns) const;

  void cancel(door& own) const { own.sleeping.store(0, std::memory_order_relaxed); }

 private:
  [[gnu::cold]] static void wake(door& target);

  bool wakers_fence_ = false;
};

}  // namespace amity::fabric::shm
