#pragma once

/// How a Long message travels: each protocol is a list of steps, which `remote_operations` takes.
///
/// The target runs the handler when the payload is in its segment and the envelope is there. The protocols differ in
/// who makes sure of the first: the envelope itself, the fabric's order, the source, or the target.
/// (Hargrove and Bonachea, Efficient Active Message RMA in GASNet Using a Target-Side Reassembly Protocol, 2019.)

#include <array>
#include <cstdint>
#include <string_view>

#include "amity/fabric/fabric.hpp"

namespace amity::core {

enum class long_protocol : std::uint8_t {
  packed,         ///< the envelope carries the payload, and the target copies it
  ordered,        ///< put, then the envelope: the fabric keeps them in order
  put_sync_send,  ///< put, wait until it is complete, envelope
  chained,        ///< the same, but the call returns after the put
  rendezvous,     ///< the envelope; the target gets the payload
  reassembly,     ///< put and envelope at once; the target runs the handler when both are there
};

/// One thing that an operation has to do. Each can be refused, and is tried again later.
enum class step : std::uint8_t {
  take_slot,      ///< that the target has lent
  put,            ///< nobody waits for it to be complete
  put_and_await,  ///< the next step waits for it
  put_notify,     ///< the target is told, by the slot's number
  get,
  atomic,
  send_packed,  ///< envelope and payload
  send_envelope,
  offer,  ///< an envelope that says where the payload is
  end,
};
using steps = std::array<step, 4>;

inline constexpr steps only_put{step::put, step::end};
inline constexpr steps only_envelope{step::send_envelope, step::end};
inline constexpr steps only_get{step::get, step::end};
inline constexpr steps only_atomic{step::atomic, step::end};
inline constexpr steps nothing_left{step::end};

constexpr steps steps_of(long_protocol protocol) {
  switch (protocol) {
    case long_protocol::packed:
      return {step::send_packed, step::end};
    case long_protocol::ordered:
      return {step::put, step::send_envelope, step::end};
    case long_protocol::put_sync_send:
    case long_protocol::chained:
      return {step::put_and_await, step::send_envelope, step::end};
    case long_protocol::rendezvous:
      return {step::take_slot, step::offer, step::end};
    case long_protocol::reassembly:
      break;
  }
  return {step::take_slot, step::put_notify, step::send_envelope, step::end};
}

/// Which protocol a message takes, by what the fabric can do and AMITY_LONG_PROTOCOL.
class long_choice {
 public:
  /// Throws `error` if the setting names a protocol that this fabric cannot have.
  long_choice(std::string_view setting, rank_t rank, const fabric::remote_capabilities& can,
              const fabric::capabilities& packets);

  /// `direct`: stores of this rank reach the place. `offered()`: whether the payload lies in a segment of this rank.
  template <class Offered>
  long_protocol of(std::size_t payload_bytes, bool direct, Offered&& offered) const noexcept {
    if (payload_bytes <= (direct ? packed_direct_max_ : packed_max_)) return long_protocol::packed;
    if (!forced_) return direct ? long_protocol::ordered : large_;
    return large_ == long_protocol::rendezvous && !offered() ? otherwise_ : large_;
  }

  /// Whether a payload for a place that stores of this rank reach is packed.
  bool packs(std::size_t payload_bytes) const noexcept { return payload_bytes <= packed_direct_max_; }
  /// To a segment that only packets reach, though the fabric has remote memory.
  long_protocol over_packets(std::size_t payload_bytes) const noexcept {
    return payload_bytes <= packed_over_packets_max_ ? long_protocol::packed : long_protocol::reassembly;
  }

 private:
  bool forced_ = false;
  long_protocol large_;      ///< what is too large to be packed
  long_protocol otherwise_;  ///< where the one that is forced cannot be had for a message
  std::size_t packed_max_;
  std::size_t packed_direct_max_;
  std::size_t packed_over_packets_max_;
};

}  // namespace amity::core
