#pragma once

/// How long a thread polls before it gives up its CPU, if no wake-up announces the event, such as a store of a peer.

#include <algorithm>
#include <cstdint>

#include "amity/base/clock.hpp"
#include "amity/base/stall_clock.hpp"

namespace amity {

struct polling_limits {
  std::uint32_t looks;  ///< that find nothing, before the thread gives up its CPU
  /// Looks of a thread that gives up its CPU, each time that it has served others: the next message often comes within
  /// microseconds.
  std::uint32_t looks_after_service;

  /// For a thread with a CPU of its own: about 400 us with shared memory.
  static constexpr polling_limits of_own_cpu() { return {.looks = 4000, .looks_after_service = 50}; }
  /// For a thread that shares its CPU with others that wait.
  static constexpr polling_limits of_shared_cpu(std::uint32_t looks) {
    return {.looks = looks, .looks_after_service = 0};
  }
};

/// One wait.
class polling {
 public:
  /// A report is due after each `stall_ns` without service; 0: never.
  polling(const polling_limits& how, std::uint64_t stall_ns) noexcept : how_(how), clock_(stall_ns) {}

  bool is_patient() const noexcept { return looks_ < how_.looks; }
  /// The thread has done something for others.
  void served() noexcept {
    looks_ = std::min(looks_, how_.looks - how_.looks_after_service);
    clock_.restart();
  }
  /// Call it after the rest that follows a look. Returns whether a report is due.
  bool rested() noexcept {
    return ++looks_ > how_.looks && looks_ % looks_per_report == 0 && clock_.is_due(steady_now_ns());
  }
  /// How long the wait had lasted when a report was due.
  double seconds() const noexcept { return clock_.seconds(); }

 private:
  /// Reading the clock takes as long as a look.
  static constexpr std::uint32_t looks_per_report = 64;

  polling_limits how_;
  stall_clock clock_;
  std::uint32_t looks_ = 0;
};

}  // namespace amity
