#include "amity/world/launch/poll_set.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>

#include "amity/base/assert.hpp"

namespace amity::detail {

bool poll_set::wait(std::optional<duration> limit) {
  timespec time{};
  if (limit) {
    using namespace std::chrono;
    const auto left = duration_cast<nanoseconds>(std::max(*limit, duration::zero()));
    time.tv_sec = static_cast<time_t>(duration_cast<seconds>(left).count());
    time.tv_nsec = static_cast<long>((left % seconds(1)).count());
  }
  const int count = ::ppoll(watched_.data(), watched_.size(), limit ? &time : nullptr, nullptr);
  AMITY_ASSERT(count >= 0 || errno == EINTR, errno);
  ready_.clear();
  if (count <= 0) return false;
  for (const auto& entry : watched_) {
    if (entry.revents == 0) continue;
    const auto index = static_cast<std::size_t>(entry.fd);
    if (index >= ready_.size()) ready_.resize(index + 1);
    ready_[index] = (entry.revents & ~entry.events) != 0 ? entry.events : entry.revents;
  }
  return true;
}

short poll_set::ready(int fd) const noexcept {
  const auto index = static_cast<std::size_t>(fd);
  return fd >= 0 && index < ready_.size() ? ready_[index] : short{0};
}

}  // namespace amity::detail
