#pragma once

/// Cleans up after a launcher that is killed and cannot do so itself.

#include <sys/types.h>

#include <span>

#include "amity/base/file_descriptor.hpp"

namespace amity::detail {

/// The system ends the ranks with their launcher, but not the processes that the ranks have started, such as the
/// program behind a shell script. While this object exists, a small process of its own session sleeps until the
/// launcher dies, and then kills the process groups.
class launch_guard {
 public:
  /// Guards these process groups. The caller must be the parent of their leaders and must not reap them while the guard
  /// exists: a number could name another group then. Throws `error` if the system has no process left.
  explicit launch_guard(std::span<const pid_t> groups);
  launch_guard(const launch_guard&) = delete;
  launch_guard& operator=(const launch_guard&) = delete;

  /// The groups are left alone.
  ~launch_guard();

 private:
  file_descriptor life_;  ///< closes when the launcher dies
  pid_t pid_ = 0;
};

}  // namespace amity::detail
