#pragma once

/// Sleeping and waking of ranks that share memory.
///
/// The usual store-then-load handshake between a sleeper and a waker needs a full fence on both sides. Here the sleeper
/// pays for both: before it sleeps it forces a barrier on all running threads of the job
/// (`amity/base/remote_fence.hpp`), so a waker only reads a flag. That is valid only if the call works in all ranks,
/// which they count in the job's memory. A waker pays for a fence until it knows that all ranks have joined and can do
/// so; if the call is missing or forbidden in one rank, all wakers do so until the end of the job.
///
/// A rank sleeps on the futex in its door or, if it must watch other descriptors meanwhile, on a datagram socket, to
/// which wakers send an empty datagram. Whoever else sends one wakes it for nothing.

#include <atomic>
#include <cstdint>

#include "amity/base/file_descriptor.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/layout.hpp"

namespace amity::fabric::shm {

class doorbell {
 public:
  /// Creates the doorbell of one rank of `job`, which must outlive the object.
  explicit doorbell(job_memory& job);

  /// Lets the owner of `own` sleep on a socket; all ranks that share memory do so, or none. Throws `error`.
  void open_socket(door& own);
  /// That socket; -1: there is none.
  int socket() const noexcept { return socket_.get(); }

  /// Wakes the owner of `target` if it sleeps. Call after publishing what it waits for.
  void ring(door& target) {
    if (wakers_fence()) [[unlikely]] {
      fence();
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with the membarrier in announce()
    }
    if (target.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake(target);
  }

  /// Announces that the caller is about to sleep. It must look for events once more after this call; then it sleeps, on
  /// the word `sleeping` of its door or on its socket, and calls `cancel`.
  void announce(door& own, sleep_mode mode = sleep_mode::on_futex);

  /// How long the caller may sleep after `announce`. Short if the kernel has refused the barrier: a waker may have
  /// missed the announcement then.
  std::uint64_t sleep_ns_max() const noexcept { return is_heard_ ? ~std::uint64_t{0} : unheard_sleep_ns; }

  void cancel(door& own) const { own.sleeping.store(0, std::memory_order_relaxed); }

  /// After a sleep on the socket.
  void empty_socket() const noexcept;

  /// Whether this rank fences before it reads whether another rank sleeps.
  bool wakers_fence() const noexcept { return wakers_fence_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t unheard_sleep_ns = 1'000'000;

  [[gnu::cold]] void fence();
  [[gnu::cold]] void wake(door& target) const;

  job_memory& job_;
  bool has_barrier_;
  bool is_heard_ = true;
  std::atomic<bool> wakers_fence_ = true;  ///< a rank may abort the job from any of its threads
  file_descriptor socket_;
};

}  // namespace amity::fabric::shm
