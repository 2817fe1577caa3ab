#pragma once

/// The reserve: credits and slots that only packets without an epoch can take.
///
/// A rank keeps packets of an epoch that has not begun, and with them their credits. If these were all credits of a
/// peer, packets that end a wait of that rank could not reach it. So ordinary packets leave two credits of each peer
/// free: one for packets without an epoch, and one for answers alone.

#include <cstddef>
#include <cstdint>

namespace amity::fabric {

/// What a packet is, as far as the credits matter that it may take.
enum class claim : std::uint8_t {
  ordinary,  ///< belongs to an epoch, or can wait as long as such packets
  no_epoch,  ///< belongs to no epoch; its target does not keep it until one begins
  answer,    ///< the same, and the target's sink releases it at once: answers, grants, wake-ups
};

/// Credits, and slots, of each peer that ordinary packets leave free.
inline constexpr std::size_t reserve_per_peer = 2;

/// The credits (or slots) of a peer if the settings ask for so many: the reserve is part of them, unless too few
/// would be left.
constexpr std::size_t with_reserve(std::size_t configured) noexcept {
  return configured < 2 * reserve_per_peer ? configured + reserve_per_peer : configured;
}

/// How many credits (or slots) remain for others when a packet of this claim has none.
constexpr std::size_t withheld_from(claim of) noexcept { return reserve_per_peer - static_cast<std::size_t>(of); }

/// Whether a packet of this claim can take one of `all` credits (or slots) of which `in_use` are taken.
constexpr bool is_free_for(claim of, std::size_t in_use, std::size_t all) noexcept {
  return in_use + withheld_from(of) < all;
}

}  // namespace amity::fabric
