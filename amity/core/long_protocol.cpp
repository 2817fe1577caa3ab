#include "amity/core/long_protocol.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/long_envelope.hpp"

namespace amity::core {
namespace {

// Up to this a copy at the target is taken to cost less than a second transfer.
constexpr std::size_t packed_usual_max = 2048;

constexpr std::array<std::pair<std::string_view, long_protocol>, 6> names{{
    {"packed", long_protocol::packed},
    {"ordered", long_protocol::ordered},
    {"put_sync_send", long_protocol::put_sync_send},
    {"chained", long_protocol::chained},
    {"rendezvous", long_protocol::rendezvous},
    {"reassembly", long_protocol::reassembly},
}};

}  // namespace

long_choice::long_choice(std::string_view setting, rank_t rank, const fabric::remote_capabilities& can,
                         const fabric::capabilities& packets) {
  const std::size_t room = packets.packet_bytes_max - envelope_bytes_max;
  // Beside a payload in the same line, the target needs no other one.
  const std::size_t line_room =
      packets.inline_bytes_max > sizeof(envelope) ? packets.inline_bytes_max - sizeof(envelope) : 0;
  packed_max_ = std::min(room, packed_usual_max);
  packed_direct_max_ = std::min(room, line_room);
  large_ = otherwise_ = can.puts_before_packets            ? long_protocol::ordered
                        : can.notify_bits >= slot_bits_min ? long_protocol::reassembly
                                                           : long_protocol::chained;
  const auto* const found = std::ranges::find(names, setting, [](const auto& each) { return each.first; });
  if (found == names.end()) return;
  if (found->second == long_protocol::packed) {
    packed_max_ = packed_direct_max_ = room;
    return;
  }
  forced_ = true;
  large_ = found->second;
  // Empty payloads have nothing to be put.
  packed_max_ = packed_direct_max_ = 0;
  const auto refuse = [&](std::string_view lacks) {
    throw error("remote_endpoint", rank, fmt::format("AMITY_LONG_PROTOCOL={}, but this fabric {}", setting, lacks),
                "leave AMITY_LONG_PROTOCOL unset, or choose put_sync_send, chained or rendezvous");
  };
  if (large_ == long_protocol::ordered && !can.puts_before_packets) refuse("does not deliver packets after puts");
  if (large_ == long_protocol::reassembly && can.notify_bits < slot_bits_min) {
    refuse(fmt::format("has notifications of {} bits, and {} are needed", can.notify_bits, slot_bits_min));
  }
}

}  // namespace amity::core
