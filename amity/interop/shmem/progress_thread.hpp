#pragma once

/// A thread that runs handlers while the program computes, on request.
///
/// It polls as long as there is something, then yields, and sleeps for moments after a while: stores wake nobody, and
/// the CPU is the program's.

#include <stop_token>
#include <thread>

#include "amity/base/yielder.hpp"

namespace amity::shmem {

class progress_thread {
 public:
  /// `poll` never waits, and says whether it has done anything. It is called until the end of this object.
  template <class Poll>
  explicit progress_thread(Poll poll)
      : thread_([poll](const std::stop_token& ended) {
          yielder others;
          for (unsigned idle = 0; !ended.stop_requested();) {
            idle = poll() ? 0 : idle + 1;
            if (idle > idle_rounds_max) {
              yielder::doze();
            } else if (idle > 0) {
              others.yield_or_doze();
            }
          }
        }) {}

 private:
  static constexpr unsigned idle_rounds_max = 100;

  std::jthread thread_;
};

}  // namespace amity::shmem
