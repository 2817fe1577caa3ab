#pragma once

/// One of the launcher's output streams, written without blocking.

#include <sys/types.h>

#include <string_view>

#include "amity/base/file_descriptor.hpp"
#include "amity/base/types.hpp"

namespace amity::detail {

/// A pipe or terminal is opened again, because the mode O_NONBLOCK of the inherited descriptor is shared with other
/// processes. If the system refuses that, pieces of at most PIPE_BUF bytes are written when the stream is ready; such a
/// write blocks only if another process fills the pipe at the same moment.
class output_target : private immovable {
 public:
  /// The descriptor remains the caller's.
  explicit output_target(int fd) noexcept;

  /// Two targets that may be the same file: a line that is written in several pieces ends before the other target
  /// begins a line. Both must live equally long.
  void take_turns_with(output_target& other) noexcept;

  /// What to poll for POLLOUT.
  int fd() const noexcept { return own_ ? own_.get() : inherited_; }

  /// Whether the other target is in the middle of a line.
  bool must_wait() const noexcept { return other_ != nullptr && other_->inside_line_; }

  /// Writes some of `lines`, which end with a newline: whole lines, or a part of a line if it is longer than a piece.
  /// Returns the number of bytes, 0 if the stream is not ready, and -1 with `errno` if it failed.
  ssize_t write(std::string_view lines) noexcept;

  /// Whether `write` may be called again without polling.
  bool never_blocks() const noexcept { return never_blocks_; }

 private:
  int inherited_;
  file_descriptor own_;
  std::size_t piece_bytes_max_;
  bool is_socket_ = false;
  bool never_blocks_ = false;
  bool inside_line_ = false;
  const output_target* other_ = nullptr;
};

}  // namespace amity::detail
