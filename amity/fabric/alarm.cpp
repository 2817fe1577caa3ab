#include "amity/fabric/alarm.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>

#include "amity/base/futex.hpp"

namespace amity::fabric {

void sleep(const alarm& on, std::uint64_t timeout_ns) noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  const std::uint64_t bounded_ns = std::min({timeout_ns, on.sleep_ns_max, 3600 * second});
  if (bounded_ns == 0) return;
  const timespec limit{.tv_sec = static_cast<time_t>(bounded_ns / second),
                       .tv_nsec = static_cast<long>(bounded_ns % second)};
  // Each of these may return early, at a signal for example.
  if (on.word != nullptr) {
    futex_wait(*on.word, on.value, bounded_ns);
  } else if (std::ranges::any_of(on.descriptors, [](int each) { return each >= 0; })) {
    std::array<pollfd, std::tuple_size_v<decltype(on.descriptors)>> watched;
    std::ranges::transform(on.descriptors, watched.begin(), [](int each) {
      return pollfd{.fd = each, .events = POLLIN, .revents = 0};  // a negative one is ignored
    });
    ::ppoll(watched.data(), watched.size(), &limit, nullptr);
  } else {
    ::nanosleep(&limit, nullptr);
  }
}

}  // namespace amity::fabric
