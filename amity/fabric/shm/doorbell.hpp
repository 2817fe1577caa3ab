#pragma once

/// Sleeping and waking of ranks that share memory.
///
/// The usual store-then-load handshake between a sleeper and a waker needs a full fence on both sides. Here the sleeper
/// pays for both: before it sleeps it asks the kernel for a barrier on all running threads of the job
/// (membarrier(2), GLOBAL_EXPEDITED), so a waker only reads a flag. Where the kernel has no such barrier, wakers fence.
///
/// A rank sleeps on the futex in its door or, if it must watch other descriptors meanwhile, on a datagram socket, to
/// which wakers send an empty datagram. Whoever else sends one wakes it for nothing.

#include <cstdint>

#include "amity/base/file_descriptor.hpp"
#include "amity/fabric/shm/layout.hpp"

namespace amity::fabric::shm {

class doorbell {
 public:
  doorbell();

  /// Lets the owner of `own` sleep on a socket; all ranks that share memory do so, or none. Throws `error`.
  void open_socket(door& own);
  /// That socket; -1: there is none.
  int socket() const noexcept { return socket_.get(); }

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
  void announce(door& own, sleep_mode mode = sleep_mode::on_futex) const;

  /// Sleeps until the door is rung or `timeout_ns` has passed.
  void sleep(door& own, std::uint64_t timeout_ns) const;

  void cancel(door& own) const { own.sleeping.store(0, std::memory_order_relaxed); }

  /// After a sleep on the socket.
  void empty_socket() const noexcept;

 private:
  [[gnu::cold]] void wake(door& target) const;

  bool wakers_fence_ = false;
  file_descriptor socket_;
};

}  // namespace amity::fabric::shm
