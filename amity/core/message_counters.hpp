#pragma once

/// What became of the messages of one type, and where the counters of types that have ended are kept until the job
/// ends.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace amity {

/// What became of the messages of one type that this rank has sent, since the type was made.
struct message_counters {
  std::uint64_t sent = 0;               ///< that went to a rank, this one included
  std::uint64_t handled = 0;            ///< that came from a rank, this one included
  std::uint64_t dropped = 0;            ///< by `unique`: they had been sent before
  std::uint64_t combined = 0;           ///< by `combine`: they became part of another
  std::uint64_t forwarded = 0;          ///< by `route`: passed on for other ranks, neither sent nor handled here
  std::uint64_t packets = 0;            ///< in which they went
  std::uint64_t bytes = 0;              ///< that these packets held
  std::uint64_t room = 0;               ///< bytes that they might have held, by the bound of the message type
  std::uint64_t cache_misses = 0;       ///< look-ups of `unique` and `combine` that found nothing
  std::uint64_t buffer_bytes_peak = 0;  ///< most memory that packets took at a time while they were being filled

  /// Look-ups that found an earlier message.
  std::uint64_t cache_hits() const noexcept { return dropped + combined; }
  /// How full packets were, 0 to 1; 0 if there were none.
  double mean_fill() const noexcept {
    return room == 0 ? 0 : std::min(1.0, static_cast<double>(bytes) / static_cast<double>(room));
  }

  using words = std::array<std::uint64_t, 10>;
  message_counters& operator+=(const message_counters& other) noexcept;
};

namespace core {

/// Counters by the name of the message type, sorted; types of one name count together.
class counter_book {
 public:
  struct entry {
    std::string name;
    message_counters counters;
  };

  void add(std::string_view name, const message_counters& counters);
  const std::vector<entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<entry> entries_;
};

}  // namespace core
}  // namespace amity
