#pragma once

/// Yielding the CPU, as far as it helps: to others who wait as well, but not to programs that compute.

#include <sched.h>

#include <cstdint>

#include "amity/base/clock.hpp"

namespace amity {

/// For one thread. Whoever yields gets the CPU back when the others on it have yielded, or after their time slices of
/// some milliseconds, and Linux since 6.18 takes away the rest of its own slice each time. One who sleeps is woken
/// within microseconds, whoever else has the CPU.
class yielder {
 public:
  /// False where yielding has lately taken long: sleep instead.
  bool yield() noexcept {
    const std::uint64_t begin_ns = steady_now_ns();
    if (begin_ns < rested_ns_) return false;
    ::sched_yield();
    const std::uint64_t end_ns = steady_now_ns();
    if (end_ns - begin_ns < long_ns) return true;
    rested_ns_ = end_ns + rest_ns;
    return false;
  }

 private:
  static constexpr std::uint64_t long_ns = 1'000'000;
  static constexpr std::uint64_t rest_ns = 100'000'000;

  std::uint64_t rested_ns_ = 0;
};

}  // namespace amity
