#pragma once

/// The 64-bit word that travels with every packet: what the packet is and to which part of the program it belongs.

#include <cstdint>

namespace amity::core {

/// Number of a handler, the same on all ranks. Assigned by the registry.
using handler_id = std::uint16_t;

/// Number of a world among those that its ranks have; the job's own is 0.
using world_number = std::uint8_t;

enum class packet_kind : std::uint8_t {
  message,     ///< one or more messages of one handler, whole
  fragment,    ///< a part of a message that is larger than a packet
  collective,  ///< barrier and reductions; belongs to no epoch
  detector,    ///< termination detection of one epoch
  wake,        ///< nothing but a reason to look around, or a packet that was begun and then given up
  envelope,    ///< of a Long message: all but its payload, unless that is small
  slots,       ///< of Long messages, that the target lends
  remote,      ///< remote memory over packets, where the fabric has none
};

/// Number of an epoch, as it travels: 1 to 255, in a circle; 0 stands for "outside any epoch". A rank is never more
/// than one epoch ahead of another, so that one byte is enough to tell them apart.
using epoch_tag = std::uint8_t;
inline constexpr epoch_tag no_epoch = 0;

/// Bits of a handler's name's hash that travel.
inline constexpr std::uint16_t check_mask = 0x7fff;

/// Number of times that a rank has recorded its counters for termination detection, modulo 256.
using wave_colour = std::uint8_t;

/// All but the last byte, which names the world: the job's own leaves it zero, the others' sub_fabric fills it in.
struct packet_header {
  handler_id handler = 0;
  std::uint16_t check =
      0;  ///< hash of the handler's name, in 15 bits: a disagreement between ranks is seen before any harm
  packet_kind kind = packet_kind::message;
  epoch_tag epoch = no_epoch;
  wave_colour colour = 0;
  std::uint8_t args = 0;  ///< 64-bit words of arguments in front of the payload, at most 31
  bool reply = false;     ///< to a request; it may not be replied to

  // With shifts, so that the word is put together in a register: put together in memory, its load would wait for all
  // stores before it, those to other ranks' cache lines too.
  constexpr std::uint64_t pack() const {
    return std::uint64_t{handler} | std::uint64_t{check} << 16 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 31 |
           std::uint64_t{reply} << 34 | std::uint64_t{args} << 35 | std::uint64_t{epoch} << 40 |
           std::uint64_t{colour} << 48;
  }
  static constexpr packet_header unpack(std::uint64_t word) {
    return {.handler = static_cast<handler_id>(word),
            .check = static_cast<std::uint16_t>(word >> 16 & check_mask),
            .kind = static_cast<packet_kind>(word >> 31 & 7),
            .epoch = static_cast<epoch_tag>(word >> 40),
            .colour = static_cast<wave_colour>(word >> 48),
            .args = static_cast<std::uint8_t>(word >> 35 & 31),
            .reply = (word >> 34 & 1) != 0};
  }
};

constexpr world_number world_of(std::uint64_t word) { return static_cast<world_number>(word >> 56); }
constexpr std::uint64_t with_world(std::uint64_t word, world_number world) { return word | std::uint64_t{world} << 56; }
constexpr std::uint64_t without_world(std::uint64_t word) { return word << 8 >> 8; }

}  // namespace amity::core
