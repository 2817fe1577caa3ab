#pragma once

/// The policy that puts many small messages to one rank into one packet.

#include <cstddef>
#include <cstdint>

namespace amity {

/// Messages to one destination are collected in a packet that is sent when a bound is reached, when `flush` is called,
/// when its rank has nothing else to do, or at the end of the epoch. The packet is filled in the fabric's own memory:
/// a message is written once by its sender and read in place by its handler.
///
/// Laws: every message is handled exactly once, with or without the policy; no order is promised either way.
/// Cost: one packet a destination that is sent to (at most the fabric's largest packet).
struct coalesce {
  std::size_t count = 0;  ///< most messages in a packet; 0: as many as fit
  std::size_t bytes =
      0;  ///< most bytes in a packet; 0: AMITY_COALESCE_BYTES. The fabric's largest packet is a bound too
  /// A packet leaves at the first occasion after its first message has waited this long; 0: no limit. Occasions are
  /// polls, and sends that fill a packet or are one: a rank that computes meanwhile has none. Costs a look at the clock
  /// for each packet and occasion.
  std::uint64_t microseconds = 0;
  /// Finds the size of packets by itself while messages are sent, from 64 bytes to 64 KiB; the bounds hold all the
  /// same.
  bool tuned = false;

  /// For `coalesce{.tuned = true}`.
  static const coalesce automatic;
};

inline constexpr coalesce coalesce::automatic{.tuned = true};

}  // namespace amity
