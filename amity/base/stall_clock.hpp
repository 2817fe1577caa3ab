#pragma once

/// Finds waits that have lasted for long.

#include <cstdint>

namespace amity {

/// Not thread-safe. Times are those of any clock that does not go back.
class stall_clock {
 public:
  enum class repeat { each_period, each_doubling };

  /// A report is due after `period_ns` of a wait (0: never), and then after each further period or each time that the
  /// wait has lasted twice as long.
  explicit stall_clock(std::uint64_t period_ns, repeat how = repeat::each_period) noexcept
      : period_ns_(period_ns), how_(how) {}

  /// Another wait begins with the next call of `is_due`.
  void restart() noexcept { next_ns_ = 0; }

  /// Whether a report is due. Call it again and again during the wait.
  bool is_due(std::uint64_t now_ns) noexcept {
    if (period_ns_ == 0) return false;
    if (next_ns_ == 0) {
      since_ns_ = now_ns;
      next_ns_ = period_ns_;
    }
    lasted_ns_ = now_ns - since_ns_;
    if (lasted_ns_ < next_ns_) return false;
    next_ns_ = how_ == repeat::each_doubling ? 2 * lasted_ns_ : lasted_ns_ + period_ns_;
    return true;
  }

  /// How long the wait had lasted at the last call of `is_due`.
  double seconds() const noexcept { return static_cast<double>(lasted_ns_) * 1e-9; }

 private:
  std::uint64_t period_ns_;
  repeat how_;
  std::uint64_t since_ns_ = 0;
  std::uint64_t next_ns_ = 0;  ///< of the wait; 0: it has not begun
  std::uint64_t lasted_ns_ = 0;
};

}  // namespace amity
