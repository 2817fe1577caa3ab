#pragma once

/// Merges the output of many processes into one descriptor, line by line.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/file_descriptor.hpp"
#include "amity/world/launch/poll_set.hpp"

namespace amity::detail {

/// Lines of different sources never mix. A line without an end gets one when its source closes, or at `line_bytes_max`.
/// Never blocks on the sources; a slow reader of the target slows them down, since at most `backlog_bytes_max` and one
/// read wait here. When nobody reads the target any more, the sources are closed and their writers find out.
class line_merger {
 public:
  static constexpr std::size_t line_bytes_max = 64 * 1024;
  static constexpr std::size_t backlog_bytes_max = 256 * 1024;

  /// The target stays the caller's.
  explicit line_merger(int target) noexcept : target_(target) {}

  /// Adds a source, each of whose lines will begin with `prefix`. Returns the end that its writer inherits; the caller
  /// closes its own copy. Throws `error` if there is no descriptor left.
  file_descriptor add(std::string prefix);

  /// Adds a line of the launcher's own.
  void add_line(std::string_view text) { backlog_.append(text).append("\n"); }

  void watch(poll_set& polls) const;
  void react(const poll_set& polls);

  /// Whether everything has been written that has been read.
  bool flushed() const noexcept { return written_ == backlog_.size(); }

  /// Whether all sources are closed and everything has been written.
  bool done() const noexcept { return sources_.empty() && flushed(); }

 private:
  struct source {
    file_descriptor from;
    std::string prefix;
    std::string line;  ///< the part of a line that has arrived
  };

  void write_some();
  bool read_some(source& from);
  void split(source& from, std::string_view text);
  void end_line(source& from);

  int target_;
  std::vector<source> sources_;
  std::string backlog_;  ///< whole lines
  std::size_t written_ = 0;
};

}  // namespace amity::detail
