#include "amity/world/launch/line_merger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "amity/base/error.hpp"

namespace amity::detail {

file_descriptor line_merger::add(std::string prefix) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw error("launch", no_rank, std::strerror(errno),
                "raise the limit of open files (ulimit -n), or do not use --prefix");
  }
  sources_.push_back({file_descriptor(ends[0]), std::move(prefix), {}});
  return file_descriptor(ends[1]);
}

void line_merger::add_line(std::string_view text) {
  if (!failed_) backlog_.append(text).append("\n");
}

void line_merger::watch(poll_set& polls) const {
  if (!flushed() && !target_.must_wait()) polls.watch(target_.fd(), POLLOUT);
  if (is_full()) return;
  for (const auto& from : sources_) polls.watch(from.from.get(), POLLIN);
}

void line_merger::react(const poll_set& polls) {
  if (!flushed() && polls.ready(target_.fd()) != 0) write_some();
  // Each round begins with another source, so that a busy one does not fill the backlog alone.
  const std::size_t count = sources_.size();
  if (count > 0) next_source_ = (next_source_ + 1) % count;
  for (std::size_t i = 0; i < count && !is_full(); ++i) {
    source& from = sources_[(next_source_ + i) % count];
    if (polls.ready(from.from.get()) != 0 && !read_some(from)) from.from.reset();
  }
  std::erase_if(sources_, [](const source& from) { return !from.from; });
}

void line_merger::write_some() {
  constexpr std::size_t bytes_max = 64 * 1024;  // then look for signals again
  for (std::size_t bytes = 0; bytes < bytes_max && !flushed() && !target_.must_wait();) {
    const ssize_t count = target_.write(std::string_view(backlog_).substr(written_));
    if (count < 0) return fail(errno);
    if (count == 0) break;
    written_ += static_cast<std::size_t>(count);
    bytes += static_cast<std::size_t>(count);
    if (!target_.never_blocks()) break;
  }
  drop_written();
}

void line_merger::drop_written() {
  if (!flushed() && written_ < backlog_bytes_max) return;
  backlog_.erase(0, written_);
  written_ = 0;
}

void line_merger::fail(int reason) {
  failed_ = true;
  new_failure_ = reason;
  backlog_.clear();
  written_ = 0;
  if (reason == EPIPE) sources_.clear();
}

/// Returns false when the source has closed.
bool line_merger::read_some(source& from) {
  std::array<char, 16 * 1024> buffer;
  const ssize_t count = ::read(from.from.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) {
    if (!from.line.empty()) end_line(from);
    return false;
  }
  if (failed_) return true;
  split(from, {buffer.data(), static_cast<std::size_t>(count)});
  return true;
}

void line_merger::split(source& from, std::string_view text) {
  while (!text.empty()) {
    const std::size_t left = line_bytes_max - from.line.size();
    const std::size_t end = text.substr(0, left).find('\n');
    const std::size_t taken = std::min({end, text.size(), left});
    from.line += text.substr(0, taken);
    text.remove_prefix(end == std::string_view::npos ? taken : taken + 1);
    if (end != std::string_view::npos || from.line.size() == line_bytes_max) end_line(from);
  }
}

void line_merger::end_line(source& from) {
  if (!failed_) backlog_.append(from.prefix).append(from.line).append("\n");
  from.line.clear();
}

}  // namespace amity::detail
