#pragma once

/// Merges the output of many processes into one descriptor, line by line.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/file_descriptor.hpp"
#include "amity/world/launch/descriptor_group.hpp"
#include "amity/world/launch/output_target.hpp"
#include "amity/world/launch/poll_set.hpp"

namespace amity::detail {

/// Lines of different sources never mix. A line without an end gets one when its source closes, or at `line_bytes_max`.
/// Never blocks on the sources or the target. A slow reader of the target slows the sources down: at most
/// `backlog_bytes_max`, one read, and one unfinished line of each source wait here.
///
/// After a failed write the output is discarded, so that the writers can end in good order. If the reader of the target
/// has closed it, the sources are closed instead, and their writers get SIGPIPE as if they wrote to that reader.
class line_merger {
 public:
  static constexpr std::size_t line_bytes_max = 64 * 1024;
  static constexpr std::size_t backlog_bytes_max = 256 * 1024;

  /// The target must outlive the object. Throws `error` if the system refuses a descriptor.
  explicit line_merger(output_target& target) : target_(target) {}

  /// Adds a source, each of whose lines will begin with `prefix`. Sources are numbered from 0. Returns the end that its
  /// writer inherits; the caller closes its own copy. Throws `error` if there is no descriptor left.
  file_descriptor add(std::string prefix);

  /// Reads what the writer of a source has written before its end, unless the backlog is full. Other numbers than those
  /// of sources are ignored.
  void read_rest(std::size_t number);

  /// Adds a line of the launcher's own.
  void add_line(std::string_view text);

  void watch(poll_set& polls) const;
  void react(const poll_set& polls);

  /// Whether everything has been written that has been read, or writing has failed.
  bool flushed() const noexcept { return written_ == backlog_.size(); }

  /// Whether all sources are closed and everything has been written.
  bool done() const noexcept { return open_sources_ == 0 && flushed(); }

  /// Returns the error number of a write that has failed, once; otherwise 0.
  int take_failure() noexcept { return std::exchange(new_failure_, 0); }

 private:
  struct source {
    file_descriptor from;  ///< empty: closed
    std::string prefix;
    std::string line;  ///< the part of a line that has arrived
  };

  std::size_t waiting_bytes() const noexcept { return backlog_.size() - written_; }
  bool is_full() const noexcept { return waiting_bytes() >= backlog_bytes_max; }
  void write_some();
  void drop_written();
  void fail(int reason);
  void close(source& from) noexcept;
  bool read_some(source& from);
  void split(source& from, std::string_view text);
  void end_line(source& from);

  output_target& target_;
  std::vector<source> sources_;
  std::size_t open_sources_ = 0;
  descriptor_group ready_sources_;  ///< the open ones, by number
  std::size_t round_ = 0;           ///< of reads
  std::string backlog_;             ///< whole lines
  std::size_t written_ = 0;
  bool failed_ = false;
  int new_failure_ = 0;
};

}  // namespace amity::detail
