#include "amity/base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace amity {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Not FUTEX_PRIVATE_FLAG: the word may be shared.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t timeout_ns) noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  const std::uint64_t bounded_ns = std::min(timeout_ns, 3600 * second);
  const timespec limit{.tv_sec = static_cast<time_t>(bounded_ns / second),
                       .tv_nsec = static_cast<long>(bounded_ns % second)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace amity
