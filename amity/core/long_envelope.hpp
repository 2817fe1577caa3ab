#pragma once

/// What travels of a Long message beside its payload.

#include <array>
#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/core/arguments.hpp"
#include "amity/core/segment.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

inline constexpr std::uint32_t no_slot = ~std::uint32_t{0};

/// Begins an envelope; the arguments follow. Behind them come, without a slot, the payload or nothing: it is there
/// already; with a slot, an offer or nothing: the payload comes by itself, and names the slot.
struct envelope {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< of the payload
  std::uint32_t segment = 0;
  std::uint32_t slot = no_slot;
};
static_assert(sizeof(envelope) == 24);

/// Where the target gets the payload.
struct offer {
  segment_descriptor segment;
  std::uint64_t offset = 0;
};
static_assert(sizeof(offer) == 136);

/// In front of a payload, or of an offer.
inline constexpr std::size_t envelope_bytes_max = sizeof(envelope) + args_max * sizeof(std::uint64_t);
static_assert(envelope_bytes_max + sizeof(offer) <= fabric::packet_bytes_guaranteed);

/// Of a notification, so that a few peers' slots can be told apart.
inline constexpr std::uint32_t slot_bits_min = 16;

}  // namespace amity::core
