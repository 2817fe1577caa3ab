#pragma once

/// How attentive a rank is: how often it looks for what has arrived, and how long it does not.
///
/// Looks are always counted. Times are taken with AMITY_CORE_ATTENTIVENESS=1 alone: each look and each handler reads
/// the clock then. A sleep, from which an arrival wakes the rank, is no inattention.

#include <algorithm>
#include <cstdint>

namespace amity::core {

struct attentiveness {
  std::uint64_t polls = 0;
  std::uint64_t polls_with_news = 0;  ///< that found something
  bool timed = false;                 ///< whether the times are taken
  std::uint64_t gap_ns_max = 0;       ///< between the end of one look, or sleep, and the next look
  std::uint64_t gap_ns_total = 0;
  std::uint64_t handler_ns_max = 0;  ///< of one packet's handlers
};

/// Takes the times, where they are wanted.
class attention_clock {
 public:
  explicit attention_clock(bool on) noexcept { seen_.timed = on; }

  bool on() const noexcept { return seen_.timed; }
  const attentiveness& seen() const noexcept { return seen_; }

  void polled(bool news) noexcept {
    ++seen_.polls;
    seen_.polls_with_news += news ? 1 : 0;
  }
  /// A look begins.
  void begin(std::uint64_t now_ns) noexcept {
    if (since_ns_ == never) return;
    const std::uint64_t gap = now_ns - since_ns_;
    seen_.gap_ns_total += gap;
    seen_.gap_ns_max = std::max(seen_.gap_ns_max, gap);
  }
  /// A look, or a sleep, has ended.
  void end(std::uint64_t now_ns) noexcept { since_ns_ = now_ns; }
  void handled(std::uint64_t ns) noexcept { seen_.handler_ns_max = std::max(seen_.handler_ns_max, ns); }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  attentiveness seen_;
  std::uint64_t since_ns_ = never;
};

}  // namespace amity::core
