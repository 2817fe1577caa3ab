#pragma once

/// Cleans up after a launcher that is killed and cannot do so itself.

#include <sys/types.h>

#include <cstddef>

#include "amity/base/file_descriptor.hpp"
#include "amity/base/types.hpp"

namespace amity::detail {

/// The system ends the ranks with their launcher, but not the processes that the ranks have started, such as the
/// program behind a shell script. While this object exists, a small process of its own session sleeps until the
/// launcher dies, and then kills the process groups that have announced themselves.
class launch_guard : private immovable {
 public:
  /// Room for this many groups. Throws `error` if the system has no process left.
  explicit launch_guard(std::size_t groups_max);

  /// The groups are left alone. None of their leaders may be reaped before: a number could name another group then.
  ~launch_guard();

  /// Where the leader of a group announces itself, before it executes its program; closed on exec.
  int fd() const noexcept { return life_.get(); }

  /// What a leader does there. Safe between fork and exec.
  static void announce(int fd, pid_t group) noexcept;

 private:
  file_descriptor life_;  ///< closes when the launcher dies
  pid_t pid_ = 0;
};

}  // namespace amity::detail
