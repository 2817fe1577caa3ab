#pragma once

/// Wall-clock time in nanoseconds, from a fixed but unspecified start. Under the simulator a rank's time is virtual:
/// ask its fabric, not this clock.

#include <time.h>

#include <chrono>
#include <cstdint>

namespace amity {

inline std::uint64_t steady_now_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// Processor time that the calling thread has taken. To ask costs more than a look at the clock on the wall.
inline std::uint64_t processor_now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace amity
