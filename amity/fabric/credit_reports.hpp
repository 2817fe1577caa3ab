#pragma once

/// When a target reports released packets to their source, for fabrics that do not report each by itself.

#include <cstddef>
#include <cstdint>

#include "amity/fabric/reserve.hpp"

namespace amity::fabric {

/// Packets are reported in batches, but each at once if the source may have no other credit: if packets that are taken,
/// and not known to the source as released, leave fewer ordinary credits than a batch. Otherwise kept packets and a
/// batch that does not fill up could hold all credits. Asked when a packet is released, and when one is kept.
class credit_reports {
 public:
  /// A source has `credits` in all; `batch` is at most half of what is there for ordinary packets.
  constexpr credit_reports(std::size_t credits, std::size_t batch) noexcept
      : batch_(static_cast<std::uint32_t>(batch)),
        unreported_max_(static_cast<std::uint32_t>(credits - reserve_per_peer - batch)) {}

  /// `released`: packets to report. `unreported`: these, and those that the target has taken and not released.
  constexpr bool are_due(std::uint64_t released, std::uint64_t unreported) const noexcept {
    if (unreported < batch_) return false;  // neither can be: `released` is at most as large
    return released >= batch_ || (unreported > unreported_max_ && released > 0);
  }

 private:
  std::uint32_t batch_;
  std::uint32_t unreported_max_;
};

}  // namespace amity::fabric
