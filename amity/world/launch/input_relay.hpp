#pragma once

/// Hands what is typed at the launcher's terminal to rank 0.

#include <array>
#include <cstddef>
#include <span>

#include "amity/base/file_descriptor.hpp"
#include "amity/world/launch/poll_set.hpp"

namespace amity::detail {

/// Rank 0 has its own process group, and a terminal lets only its foreground group read; so the launcher reads for it.
/// Input that is no terminal needs no relay. Never blocks, as long as nobody else reads the terminal.
class input_relay {
 public:
  /// The source stays the caller's. Throws `error` if there is no descriptor left.
  explicit input_relay(int source);

  /// The end that rank 0 inherits as its standard input; to be closed here once it has.
  file_descriptor take_reading_end() noexcept;

  void watch(poll_set& polls);
  void react(const poll_set& polls);

  /// Whether the launcher is in the background, where it cannot read: `watch` again from time to time.
  bool paused() const noexcept { return paused_; }

 private:
  bool in_background() const noexcept;

  int source_;
  file_descriptor reading_end_;
  file_descriptor target_;  ///< closed when the input has ended or rank 0 does not read any more
  bool paused_ = false;
  std::array<std::byte, 4096> buffer_{};
  std::span<const std::byte> pending_;  ///< part of the buffer
};

}  // namespace amity::detail
