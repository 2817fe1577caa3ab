#include "amity/world/launch/poll_set.hpp"

#include <algorithm>
#include <cerrno>
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
  return count > 0;
}

short poll_set::ready(int fd) const noexcept {
  const auto found = std::ranges::find(watched_, fd, &pollfd::fd);
  if (found == watched_.end()) return 0;
  return (found->revents & ~found->events) != 0 ? found->events : found->revents;
}

}  // namespace amity::detail
