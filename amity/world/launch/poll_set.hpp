#pragma once

/// What the launcher waits for: a set of descriptors, rebuilt for each wait.

#include <poll.h>

#include <chrono>
#include <optional>
#include <vector>

namespace amity::detail {

class poll_set {
 public:
  using duration = std::chrono::steady_clock::duration;

  void clear() noexcept { watched_.clear(); }

  /// Each descriptor once between `clear` and `wait`.
  void watch(int fd, short events) { watched_.push_back({fd, events, 0}); }

  /// Sleeps until a descriptor is ready or the time is over; without a limit, until one is ready. Returns whether one
  /// is.
  bool wait(std::optional<duration> limit);

  /// What `wait` found out about `fd`; 0 if it was not watched. Errors and hang-ups count as whatever was asked for, so
  /// that whoever reads or writes then finds them.
  short ready(int fd) const noexcept;

 private:
  std::vector<pollfd> watched_;
  std::vector<short> ready_;  ///< by descriptor
};

}  // namespace amity::detail
