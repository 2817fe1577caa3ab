#include "amity/core/long_protocol.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/long_envelope.hpp"

namespace amity::core {
namespace {

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
  packed_max_ = std::min(room, can.packed_bytes_max);
  packed_direct_max_ = std::min(room, line_room);
  packed_over_packets_max_ = room;
  large_ = otherwise_ = can.puts_before_packets            ? long_protocol::ordered
                        : can.notify_bits >= slot_bits_min ? long_protocol::reassembly
                                                           : long_protocol::chained;
  const auto* const found = std::ranges::find(names, setting, [](const auto& each) { return each.first; });
  if (found == names.end()) return;
  if (found->second == long_protocol::packed) {
    packed_max_ = packed_direct_max_ = packed_over_packets_max_ = room;
    return;
  }
  forced_ = true;
  large_ = found->second;
  // Empty payloads have nothing to be put.
  packed_max_ = packed_direct_max_ = packed_over_packets_max_ = 0;
  const auto works = [&](long_protocol which) {
    if (which == long_protocol::ordered) return can.puts_before_packets;
    return which != long_protocol::reassembly || can.notify_bits >= slot_bits_min;
  };
  if (works(large_)) return;
  std::vector<std::string_view> others;
  for (const auto& [name, which] : names) {
    if (works(which)) others.push_back(name);
  }
  throw error(
      "memory", rank,
      fmt::format("AMITY_LONG_PROTOCOL={}, but this fabric {}", setting,
                  large_ == long_protocol::ordered
                      ? packets.remote.available ? "does not deliver packets after puts"
                                                 : "has no remote memory: packets stand in for puts"
                      : fmt::format("has notifications of {} bits, and {} are needed", can.notify_bits, slot_bits_min)),
      fmt::format("leave AMITY_LONG_PROTOCOL unset, or choose one of {}", fmt::join(others, ", ")));
}

}  // namespace amity::core
