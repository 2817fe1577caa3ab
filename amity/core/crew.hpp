#pragma once

/// The threads of one rank: thread 0 runs the rank's program and gives the others work.
///
/// Threads share no state of the runtime, except windows that a progress thread serves, and need no lock: what one
/// sends to another travels through the fabric, as between ranks. Between two pieces of work the other threads handle
/// what arrives for them, in all worlds of the rank, and sleep. Whatever changes an endpoint runs on its thread.

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::core {

class crew : private immovable {
 public:
  explicit crew(rank_t threads);

  rank_t size() const noexcept { return size_; }

  /// Called by each thread, with its endpoint of the job's own world, in front of everything else.
  void enter(endpoint& own) noexcept {
    lanes_[static_cast<std::size_t>(own.thread())] = &own;
    if (own.thread() == 0) leaders_.store(1, std::memory_order_release);
    if (size_ > 1) own.own_engine().set_crew(*this);
  }

  /// Thread 0: returns when the others are ready for work.
  void assemble();
  /// Thread 0, outside handlers: runs `work(thread)` on every thread, and returns when all have done it. Inside the
  /// work of thread 0, the others have done theirs first. Where it throws, the job ends: the others leave their work at
  /// their next wait, and then the exception is rethrown.
  void run(function_ref<void(rank_t)> work);
  /// As above, for destructors. False: not all threads have done it, and they will not touch anything any more, because
  /// the job ends.
  bool try_run(function_ref<void(rank_t)> work) noexcept;
  /// Thread 0: ends the job, and returns when the others have left.
  void abandon() noexcept;
  /// Thread 0: lets the others go.
  void dismiss() noexcept;

  /// Each thread, outside handlers, with its endpoint in any world: makes progress until `done()` holds, also where a
  /// handler on another thread of the rank makes it hold. `done` reads what handlers write, so it needs atomics.
  template <class Done>
  void wait_until(endpoint& own, std::string_view where, Done&& done) {
    own.wait_until(where, done, [&] { return size_ > 1 && announce(own.thread()) && done(); });
    if (size_ > 1) seat_of(own.thread()).waits.store(false, std::memory_order_relaxed);
  }
  /// For endpoints, after handlers may have run on this thread: wakes those that wait for what handlers do, if any has.
  void tell_waiting(rank_t thread, std::uint64_t handlers_run) {
    if (seat_of(thread).handlers_told != handlers_run) wake_waiting(thread, handlers_run);
  }

  /// Whether the calling thread is one of the rank's, in a handler.
  bool runs_handler_here() const noexcept;

  /// The other threads: does what thread 0 asks for, until it lets them go.
  void serve(rank_t thread);
  /// The other threads, after `serve`: returns when thread 0 no longer uses what they have, memory for example.
  void await_leader(rank_t thread) noexcept;
  /// Thread 0: it has done with the rank's program.
  void leave() noexcept;

 private:
  struct alignas(cache_line_bytes) seat {
    std::uint64_t handlers_told = 0;  ///< run by this thread before it last looked who waits; its own
    std::atomic<bool> waits = false;
  };

  seat& seat_of(rank_t thread) noexcept { return seats_[static_cast<std::size_t>(thread)]; }
  bool announce(rank_t thread) noexcept;
  void wake_waiting(rank_t thread, std::uint64_t handlers_run);
  endpoint& lane(rank_t thread) noexcept { return *lanes_[static_cast<std::size_t>(thread)]; }
  void call(const function_ref<void(rank_t)>* work);
  void wait_for_all();
  void await_departures();
  void done(rank_t thread);

  rank_t size_;
  std::vector<endpoint*> lanes_;  ///< of the job's own world
  bool assembled_ = false;
  const function_ref<void(rank_t)>* work_ = nullptr;  ///< null: go; written before `calls_` is
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<rank_t> at_work_;      ///< threads that have not done what they were last asked for
  std::atomic<rank_t> serving_;      ///< threads that have not left `serve` yet
  std::atomic<rank_t> leaders_ = 0;  ///< 1: thread 0 runs the rank's program
  std::vector<seat> seats_;
  std::atomic<bool> anyone_waits_ = false;
};

}  // namespace amity::core
