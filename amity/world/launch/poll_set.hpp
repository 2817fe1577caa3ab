#pragma once

/// What the launcher waits for: a few descriptors, collected for each wait.

#include <poll.h>

#include <chrono>
#include <optional>
#include <vector>

namespace amity::detail {

class poll_set {
 public:
  using duration = std::chrono::steady_clock::duration;

  /// Each descriptor once.
  void watch(int fd, short events) { watched_.push_back({fd, events, 0}); }

  /// Sleeps until a descriptor is ready or the time is over; without a limit, until one is ready. Returns whether one
  /// is.
  bool wait(std::optional<duration> limit);

  /// What `wait` found out about `fd`; 0 if it was not watched. Errors and hang-ups count as what was asked for: the
  /// next read or write reports them.
  short ready(int fd) const noexcept;

 private:
  std::vector<pollfd> watched_;
};

}  // namespace amity::detail
