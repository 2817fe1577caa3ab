#pragma once

/// How a rank that waits spends its time, as data.

#include <cstdint>

namespace amity {

/// A wait first looks whether something has happened, then yields the CPU between two looks, then sleeps. All are 0
/// under virtual time, where only the simulator can sleep.
struct backoff {
  std::uint32_t looks = 0;    ///< first looks
  std::uint32_t pauses = 0;   ///< moments (`cpu_pause`) between two of them
  std::uint64_t spin_ns = 0;  ///< looks without pauses, for this time after the first looks
  std::uint32_t yields = 0;   ///< looks with a yield in between, afterwards
  /// A rank that cannot be woken sleeps for `sleep_ns_min` at first, and twice as long each time that nothing has
  /// happened.
  std::uint64_t sleep_ns_min = ~std::uint64_t{0};
  std::uint64_t sleep_ns_max = ~std::uint64_t{0};
};

}  // namespace amity
