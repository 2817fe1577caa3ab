#pragma once

/// The 64-bit word that travels with every packet: what the packet is and to which part of the program it belongs.

#include <cstddef>
#include <cstdint>

#include "amity/fabric/reserve.hpp"

namespace amity::core {

/// Number of a handler, the same on all ranks. Assigned by the registry.
using handler_id = std::uint16_t;

/// Number of a world among those that its ranks have; the job's own is 0.
using world_number = std::uint8_t;

enum class packet_kind : std::uint8_t {
  message,   ///< one or more messages of one handler, whole
  fragment,  ///< a part of a message that is larger than a packet
  envelope,  ///< of a Long message: all but its payload, unless that is small
  // The runtime's own, which have no handler:
  collective = 4,  ///< barrier and reductions; belongs to no epoch
  detector,        ///< termination detection of one epoch
  service,         ///< of no world and no epoch; `handler` is the `service`
};

/// The protocols of a thread that belong to no world. Their packets are taken as soon as they arrive.
enum class service : std::uint8_t {
  wake,        ///< a reason to look around, a packet that was given up, or a question whether the peer makes progress
  long_slots,  ///< of Long messages, that the target lends
  records,     ///< one-sided operations
  answers,     ///< to records
};
inline constexpr std::size_t services = 4;

/// Number of an epoch, as it travels: 1 to 255, in a circle; 0 stands for "outside any epoch". A rank is never more
/// than one epoch ahead of another, so that one byte is enough to tell them apart.
using epoch_tag = std::uint8_t;
inline constexpr epoch_tag no_epoch = 0;

/// Bits of a handler's name's hash that travel.
inline constexpr std::uint16_t check_mask = 0x7fff;

/// Number of times that a rank has recorded its counters for termination detection, modulo 256.
using wave_color = std::uint8_t;

/// All but the last byte, which names the world: the job's own leaves it zero, the others' sub_fabric fills it in.
///
/// It is the word itself, so that it stays in a register on its way: put together in memory, its load would wait for
/// all stores before it, those to other ranks' cache lines too.
class packet_header {
 public:
  struct parts {
    handler_id handler = 0;
    std::uint16_t check = 0;  ///< hash of the handler's name, in 15 bits: ranks that disagree are seen before any harm
    packet_kind kind = packet_kind::message;
    epoch_tag epoch = no_epoch;
    wave_color color = 0;
  };

  constexpr packet_header() = default;
  explicit constexpr packet_header(const parts& of)
      : word_(std::uint64_t{of.handler} | std::uint64_t{of.check} << check_at | word_of(of.kind) << kind_at |
              std::uint64_t{of.epoch} << epoch_at | std::uint64_t{of.color} << color_at) {}
  explicit constexpr packet_header(std::uint64_t word) : word_(word) {}

  constexpr std::uint64_t word() const { return word_; }

  constexpr handler_id handler() const { return static_cast<handler_id>(word_); }
  constexpr std::uint16_t check() const { return static_cast<std::uint16_t>(word_ >> check_at & check_mask); }
  constexpr packet_kind kind() const { return static_cast<packet_kind>(word_ >> kind_at & kind_mask); }
  constexpr epoch_tag epoch() const { return static_cast<epoch_tag>(word_ >> epoch_at); }
  constexpr wave_color color() const { return static_cast<wave_color>(word_ >> color_at); }
  /// 64-bit words of arguments in front of the payload, at most 31.
  constexpr std::uint8_t args() const { return static_cast<std::uint8_t>(word_ >> args_at & args_mask); }
  /// To a request; it is not replied to.
  constexpr bool reply() const { return (word_ >> reply_at & 1) != 0; }

  constexpr packet_header with_kind(packet_kind kind) const {
    return packet_header((word_ & ~(kind_mask << kind_at)) | word_of(kind) << kind_at);
  }
  constexpr packet_header with_args(std::size_t args) const {
    return packet_header((word_ & ~(args_mask << args_at)) | std::uint64_t{args} << args_at);
  }
  constexpr packet_header as_reply() const { return packet_header(word_ | std::uint64_t{1} << reply_at); }

  static constexpr std::uint64_t kind_bits = std::uint64_t{7} << 31;
  static constexpr std::uint64_t service_bits = std::uint64_t{static_cast<std::uint8_t>(packet_kind::service)} << 31;

 private:
  static constexpr int check_at = 16, kind_at = 31, reply_at = 34, args_at = 35, epoch_at = 40, color_at = 48;
  static constexpr std::uint64_t kind_mask = 7, args_mask = 31;
  static constexpr std::uint64_t word_of(packet_kind kind) { return static_cast<std::uint8_t>(kind); }

  std::uint64_t word_ = 0;
};

/// Whether packets of this kind are the runtime's own, and have no handler.
constexpr bool is_control(packet_kind kind) { return kind >= packet_kind::collective; }

/// `sequence` is up to `check_mask`.
constexpr packet_header service_header(service which, std::uint16_t sequence = 0) {
  return packet_header({.handler = static_cast<handler_id>(which), .check = sequence, .kind = packet_kind::service});
}

/// What a packet of messages may take of the fabric's reserve.
constexpr fabric::claim claim_of_messages(packet_header header) {
  return header.epoch() == no_epoch ? fabric::claim::no_epoch : fabric::claim::ordinary;
}

/// What a packet of any kind may take of the reserve. The target copies detector packets that are early, and so keeps
/// no packet that has taken the reserve.
constexpr fabric::claim claim_of(packet_header header) {
  switch (header.kind()) {
    case packet_kind::collective:
    case packet_kind::detector:
      return fabric::claim::no_epoch;
    case packet_kind::service:
      return header.handler() == static_cast<handler_id>(service::records) ? fabric::claim::no_epoch
                                                                           : fabric::claim::answer;
    default:
      return claim_of_messages(header);
  }
}

/// Whether it belongs to the job's own world, and not to a service. One comparison: `service` is the highest kind.
constexpr bool is_of_job_world(std::uint64_t word) {
  return (word & (std::uint64_t{0xff} << 56 | packet_header::kind_bits)) < packet_header::service_bits;
}

constexpr world_number world_of(std::uint64_t word) { return static_cast<world_number>(word >> 56); }
constexpr std::uint64_t with_world(std::uint64_t word, world_number world) { return word | std::uint64_t{world} << 56; }

}  // namespace amity::core
