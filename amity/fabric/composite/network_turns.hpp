#pragma once

/// When a rank looks at the network: in every poll while something comes from there or goes there, else so rarely that
/// local packets hardly notice.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "amity/base/clock.hpp"

namespace amity::fabric {

class network_turns {
 public:
  /// Whether this poll looks. A quiet network costs a look at the clock in some of them.
  bool is_due() noexcept {
    if (quiet_looks_ < quiet_from) return true;
    if (++polls_ < polls_a_clock) return false;
    polls_ = 0;
    const std::uint64_t share = std::exchange(for_one_who_waits_, false) ? waiting_share : quiet_share;
    return steady_now_ns() >= look_end_ns_ + std::min(share * look_ns_, pause_ns_max);
  }

  /// A poll has handed over so many local packets, each of which takes as long as its handler does.
  void handed_over(std::size_t packets) noexcept { polls_ += static_cast<std::uint32_t>(packets); }

  /// Something was sent there, so that something may come back.
  void expect() noexcept { quiet_looks_ = 0; }

  /// The next poll looks, and those after it only if it finds something.
  void look_next() noexcept { quiet_looks_ = std::min(quiet_looks_, quiet_from - 1); }

  /// The next poll asks the clock: its caller waits, and polls so seldom that a number of polls says little.
  void ask_clock_next() noexcept {
    polls_ = polls_a_clock - 1;
    for_one_who_waits_ = true;
  }

  /// A look begins; it tells afterwards whether it has found something.
  class look {
   public:
    explicit look(network_turns& own) noexcept : own_(own), begin_ns_(own.is_quiet() ? steady_now_ns() : 0) {}
    void found(bool anything) noexcept {
      if (anything) return own_.expect();
      ++own_.quiet_looks_;
      if (begin_ns_ == 0) return;
      own_.look_end_ns_ = steady_now_ns();
      own_.look_ns_ = own_.look_end_ns_ - begin_ns_;
    }

   private:
    network_turns& own_;
    std::uint64_t begin_ns_;
  };

 private:
  static constexpr std::uint32_t quiet_from = 64;      ///< looks in vain
  static constexpr std::uint32_t polls_a_clock = 128;  ///< or packets
  /// Looks in vain take one part of so many of the time.
  static constexpr std::uint64_t quiet_share = 256, waiting_share = 16;
  /// One that was interrupted says nothing of what looks take.
  static constexpr std::uint64_t pause_ns_max = 1'000'000;

  bool is_quiet() const noexcept { return quiet_looks_ >= quiet_from; }

  std::uint32_t quiet_looks_ = 0;
  std::uint32_t polls_ = 0;
  std::uint64_t look_end_ns_ = 0;  ///< of the last one
  std::uint64_t look_ns_ = 0;      ///< what it took
  bool for_one_who_waits_ = false;
};

}  // namespace amity::fabric
