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
  file_descriptor writing_end(ends[1]);
  sources_.push_back({file_descriptor(ends[0]), std::move(prefix), {}});
  // The two ends have modes of their own: the writer does not see this one.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  ready_sources_.add(ends[0], sources_.size() - 1);
  ++open_sources_;
  return writing_end;
}

void line_merger::add_line(std::string_view text) {
  if (!failed_) backlog_.append(text).append("\n");
}

void line_merger::watch(poll_set& polls) const {
  if (!flushed() && !target_.must_wait()) polls.watch(target_.fd(), POLLOUT);
  if (open_sources_ > 0 && !is_full()) polls.watch(ready_sources_.fd(), POLLIN);
}

void line_merger::react(const poll_set& polls) {
  if (!flushed() && polls.ready(target_.fd()) != 0) write_some();
  if (polls.ready(ready_sources_.fd()) == 0) return;
  const auto ready = ready_sources_.ready();
  // Each round begins with another source, so that a busy one does not fill the backlog alone.
  ++round_;
  for (std::size_t i = 0; i < ready.size() && !is_full(); ++i) {
    read_some(sources_[ready[(round_ + i) % ready.size()]]);
  }
}

void line_merger::read_rest(std::size_t number) {
  if (number >= sources_.size()) return;
  constexpr int reads_max = 64;  // the capacity of a pipe; another process may still write
  for (int i = 0; i < reads_max && sources_[number].from && !is_full(); ++i) {
    if (!read_some(sources_[number])) return;
  }
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
  if (reason != EPIPE) return;
  for (source& from : sources_) close(from);
}

void line_merger::close(source& from) noexcept {
  if (!from.from) return;
  ready_sources_.remove(from.from.get());
  from.from.reset();
  --open_sources_;
}

/// Returns whether something was there.
bool line_merger::read_some(source& from) {
  std::array<char, 16 * 1024> buffer;
  const ssize_t count = ::read(from.from.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    if (!from.line.empty()) end_line(from);
    close(from);
    return false;
  }
  if (!failed_) split(from, {buffer.data(), static_cast<std::size_t>(count)});
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
