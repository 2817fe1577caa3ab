#include "amity/world/launch/input_relay.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "amity/base/error.hpp"

namespace amity::detail {

input_relay::input_relay(int source) : source_(source) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw error("launch", no_rank, std::strerror(errno), "raise the limit of open files (ulimit -n)");
  }
  reading_end_ = file_descriptor(ends[0]);
  target_ = file_descriptor(ends[1]);
}

file_descriptor input_relay::take_reading_end() noexcept { return std::move(reading_end_); }

bool input_relay::in_background() const noexcept {
  const pid_t foreground = ::tcgetpgrp(source_);
  return foreground > 0 && foreground != ::getpgrp();
}

void input_relay::watch(poll_set& polls) {
  paused_ = paused_ && in_background();
  if (!target_ || paused_) return;
  if (pending_.empty()) {
    polls.watch(source_, POLLIN);
  } else {
    polls.watch(target_.get(), POLLOUT);
  }
}

void input_relay::react(const poll_set& polls) {
  if (!target_) return;
  if (!pending_.empty()) {
    if (polls.ready(target_.get()) == 0) return;
    const ssize_t count = ::write(target_.get(), pending_.data(), pending_.size());
    if (count < 0 && errno != EINTR) return target_.reset();
    if (count > 0) pending_ = pending_.subspan(static_cast<std::size_t>(count));
  } else if (polls.ready(source_) != 0) {
    const ssize_t count = ::read(source_, buffer_.data(), buffer_.size());
    if (count < 0 && errno == EINTR) return;
    // In the background, with SIGTTIN blocked, the terminal answers with this error.
    if (count < 0 && errno == EIO && in_background()) {
      paused_ = true;
    } else if (count <= 0) {
      target_.reset();
    } else {
      pending_ = std::span(buffer_).first(static_cast<std::size_t>(count));
    }
  }
}

}  // namespace amity::detail
