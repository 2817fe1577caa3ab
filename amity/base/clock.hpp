#pragma once

/// Wall-clock time in nanoseconds, from a fixed but unspecified start. Under the simulator a rank's time is virtual:
/// ask its fabric, not this clock.

#include <chrono>
#include <cstdint>

namespace amity {

inline std::uint64_t steady_now_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace amity
