#pragma once

/// Yields the CPU if that helps: to other threads that wait, and not to programs that compute.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "amity/base/clock.hpp"

namespace amity {

/// Which yields have taken long lately. Threads may share it. Times are those of one clock that starts long before.
class long_yields {
 public:
  /// Whether a thread may yield. If not, it sleeps instead.
  bool permit(std::uint64_t now_ns) const noexcept { return now_ns >= rested_ns_.load(std::memory_order_relaxed); }

  /// Records a yield. Returns false if it was the second long one within a short time, or a long one soon after a rest:
  /// then `permit` returns false for a time. That time is short at first, because another process may have computed for
  /// a moment. It doubles with each long yield soon after it, up to a bound. One long yield otherwise says little: the
  /// hypervisor may have taken the CPU away.
  bool record(std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
    if (end_ns - begin_ns < long_ns) return true;
    const bool again = begin_ns < last_ns_.exchange(end_ns, std::memory_order_relaxed) + again_ns;
    const bool continues = begin_ns < rested_ns_.load(std::memory_order_relaxed) + again_ns;
    if (!again && !continues) return true;
    const std::uint64_t rest_ns =
        continues ? std::min(2 * rest_ns_.load(std::memory_order_relaxed), rest_ns_max) : rest_ns_min;
    rest_ns_.store(rest_ns, std::memory_order_relaxed);
    rested_ns_.store(end_ns + rest_ns, std::memory_order_relaxed);
    return false;
  }

 private:
  static constexpr std::uint64_t long_ns = 1'000'000;
  static constexpr std::uint64_t again_ns = 20'000'000;
  static constexpr std::uint64_t rest_ns_min = 2'000'000;
  static constexpr std::uint64_t rest_ns_max = 100'000'000;

  std::atomic<std::uint64_t> rested_ns_ = 0;  ///< end of the last rest
  std::atomic<std::uint64_t> rest_ns_ = 0;    ///< its length
  std::atomic<std::uint64_t> last_ns_ = 0;    ///< end of the last long yield
};

/// A thread that yields gets the CPU back when the others on it have yielded, or after their time slices of some
/// milliseconds, and Linux since 6.18 takes away the rest of its own slice each time. A thread that sleeps is woken
/// within microseconds, even if another one has the CPU.
///
/// Threads may share a yielder: what one of them finds out holds for all.
class yielder {
 public:
  /// False if yields have taken long lately (`long_yields`): sleep instead.
  bool yield() noexcept {
    std::uint64_t end_ns = 0;
    return yield(end_ns);
  }
  /// Does the same. `end_ns` is the time afterwards, which the yielder reads in any case.
  bool yield(std::uint64_t& end_ns) noexcept {
    const std::uint64_t begin_ns = end_ns = steady_now_ns();
    if (!long_yields_.permit(begin_ns)) return false;
    ::sched_yield();
    end_ns = steady_now_ns();
    return long_yields_.record(begin_ns, end_ns);
  }

  /// For threads that cannot be woken: yields, or sleeps for 20 us.
  void yield_or_doze() noexcept {
    if (!yield()) doze();
  }
  static void doze() noexcept { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

 private:
  long_yields long_yields_;
};

}  // namespace amity
