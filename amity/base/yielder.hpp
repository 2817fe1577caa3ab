#pragma once

/// Yields the CPU if that helps: to other threads that wait, and not to programs that compute.

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "amity/base/clock.hpp"

namespace amity {

/// A thread that yields gets the CPU back when the others on it have yielded, or after their time slices of some
/// milliseconds, and Linux since 6.18 takes away the rest of its own slice each time. A thread that sleeps is woken
/// within microseconds, even if another one has the CPU.
///
/// Threads may share a yielder: what one of them finds out holds for all.
class yielder {
 public:
  /// False if yields have taken long lately, twice within a short time: sleep instead. One long yield says little: the
  /// hypervisor may have taken the CPU away.
  bool yield() noexcept {
    std::uint64_t end_ns = 0;
    return yield(end_ns);
  }
  /// Does the same. `end_ns` is the time afterwards, which the yielder reads in any case.
  bool yield(std::uint64_t& end_ns) noexcept {
    const std::uint64_t begin_ns = end_ns = steady_now_ns();
    if (begin_ns < rested_ns_.load(std::memory_order_relaxed)) return false;
    ::sched_yield();
    end_ns = steady_now_ns();
    if (end_ns - begin_ns < long_ns) return true;
    const bool again = begin_ns < last_long_ns_.exchange(end_ns, std::memory_order_relaxed) + again_ns;
    if (!again) return true;
    rested_ns_.store(end_ns + rest_ns, std::memory_order_relaxed);
    return false;
  }

  /// For threads that cannot be woken: yields, or sleeps for 20 us.
  void yield_or_doze() noexcept {
    if (!yield()) doze();
  }
  static void doze() noexcept { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

 private:
  static constexpr std::uint64_t long_ns = 1'000'000;
  static constexpr std::uint64_t again_ns = 20'000'000;
  static constexpr std::uint64_t rest_ns = 100'000'000;

  std::atomic<std::uint64_t> rested_ns_ = 0;
  std::atomic<std::uint64_t> last_long_ns_ = 0;
};

}  // namespace amity
