#include "amity/world/launch/line_merger.hpp"

#include <fcntl.h>
#include <limits.h>
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

void line_merger::watch(poll_set& polls) const {
  if (!flushed()) polls.watch(target_, POLLOUT);
  if (backlog_.size() - written_ >= backlog_bytes_max) return;
  for (const auto& from : sources_) polls.watch(from.from.get(), POLLIN);
}

void line_merger::react(const poll_set& polls) {
  if (!flushed() && polls.ready(target_) != 0) write_some();
  std::erase_if(sources_, [&](source& from) { return polls.ready(from.from.get()) != 0 && !read_some(from); });
}

/// Writes whole lines, as many as a pipe that is ready takes without blocking; both output streams of the job may go to
/// one place, where half a line would be mixed with the other stream's.
void line_merger::write_some() {
  const std::string_view rest = std::string_view(backlog_).substr(written_);
  auto end = rest.substr(0, PIPE_BUF).rfind('\n');
  if (end == std::string_view::npos) end = rest.find('\n');
  const ssize_t count = ::write(target_, rest.data(), end + 1);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) {
    sources_.clear();
    written_ = backlog_.size();
  } else {
    written_ += static_cast<std::size_t>(count);
  }
  if (flushed()) {
    backlog_.clear();
    written_ = 0;
  }
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
  split(from, {buffer.data(), static_cast<std::size_t>(count)});
  return true;
}

void line_merger::split(source& from, std::string_view text) {
  while (!text.empty()) {
    const std::size_t room = line_bytes_max - from.line.size();
    const std::size_t end = text.substr(0, room).find('\n');
    const std::size_t taken = std::min({end, text.size(), room});
    from.line += text.substr(0, taken);
    text.remove_prefix(end == std::string_view::npos ? taken : taken + 1);
    if (end != std::string_view::npos || from.line.size() == line_bytes_max) end_line(from);
  }
}

void line_merger::end_line(source& from) {
  backlog_.append(from.prefix).append(from.line).append("\n");
  from.line.clear();
}

}  // namespace amity::detail
