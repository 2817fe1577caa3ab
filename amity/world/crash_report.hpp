#pragma once

/// A crash of a rank that shares its process with others names the rank.
///
/// Where each rank is a process, its launcher says which one has crashed. Ranks that are threads or fibers of one
/// process say it themselves, from a signal handler, and then leave the signal to the previous handler: a handler of
/// the program, a sanitizer, or the system. The line is also printed for a fault that the program's handler recovers
/// from. Neither a rank's nor a simulated rank's stack is needed.

#include <csignal>
#include <cstddef>

#include "amity/base/types.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity::detail {

/// While one lives, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are reported. There may be several.
class crash_report : private immovable {
 public:
  crash_report();
  ~crash_report();
};

/// While one lives, the calling thread is that of a rank, or that of all ranks of a simulated job.
class crash_place : private immovable {
 public:
  crash_place(rank_t lane, rank_t lanes_each) noexcept : crash_place(lane, lanes_each, nullptr) {}
  crash_place(const fabric::sim::running_lane& running, rank_t lanes_each) noexcept
      : crash_place(no_rank, lanes_each, &running) {}
  ~crash_place();

 private:
  crash_place(rank_t lane, rank_t lanes_each, const fabric::sim::running_lane* running) noexcept;

  void* stack_;  ///< null: there is no memory for one; then the signal handler does not know the rank
  stack_t before_ = {};
};

}  // namespace amity::detail
