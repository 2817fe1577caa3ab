#pragma once

/// A thread that makes progress while the program computes, on request, for a serialized engine.
///
/// It polls as long as there is something, then yields, and later sleeps for 20 us at a time: no rank wakes it, and the
/// program needs the CPU. It receives no signals, which are for threads of the program.

#include <csignal>
#include <stop_token>
#include <thread>
#include <utility>

#include "amity/base/types.hpp"
#include "amity/base/yielder.hpp"

namespace amity::core {

class progress_thread {
 public:
  /// `poll` never waits, and returns whether it has done anything. It is called until the end of this object.
  template <class Poll>
  explicit progress_thread(Poll poll) {
    const without_signals inherited;
    thread_ = std::jthread([poll = std::move(poll)](const std::stop_token& ended) {
      yielder others;
      for (unsigned idle = 0; !ended.stop_requested();) {
        idle = poll() ? 0 : idle + 1;
        if (idle > idle_rounds_max) {
          yielder::doze();
        } else if (idle > 0) {
          others.yield_or_doze();
        }
      }
    });
  }

 private:
  static constexpr unsigned idle_rounds_max = 100;

  /// Blocks all signals in the calling thread. A thread that it starts then inherits that.
  class without_signals : private immovable {
   public:
    without_signals() noexcept {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~without_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

   private:
    sigset_t before_{};
  };

  std::jthread thread_;
};

}  // namespace amity::core
