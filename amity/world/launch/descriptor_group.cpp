#include "amity/world/launch/descriptor_group.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::detail {
namespace {

[[noreturn]] void refuse(const char* call) {
  throw error(
      "launch", no_rank, fmt::format("cannot watch the ranks: {}: {}", call, std::strerror(errno)),
      "raise the limit of open files (ulimit -n), or allow this system call in the container's seccomp profile");
}

}  // namespace

descriptor_group::descriptor_group() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) refuse("epoll_create1");
}

void descriptor_group::add(int fd, std::size_t key) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) refuse("epoll_ctl");
}

void descriptor_group::remove(int fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::span<const std::size_t> descriptor_group::ready() noexcept {
  const int count = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(keys_max), 0);
  if (count <= 0) return {};
  const auto found = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < found; ++i) keys_[i] = events_[i].data.u64;
  return std::span(keys_).first(found);
}

}  // namespace amity::detail
