#include "amity/fabric/ofi/gate.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace amity::fabric::ofi {
namespace {

constexpr std::uint32_t bytes_bits = 24;
constexpr std::uint32_t bytes_mask = (1u << bytes_bits) - 1;

}  // namespace

std::string_view describe(admission what) noexcept {
  switch (what) {
    case admission::lost:
      return "earlier packets are missing";
    case admission::invalid_size:
      return "its length differs from the length in its header";
    case admission::invalid_kind:
      return "its kind is unknown";
    case admission::invalid_credits:
      return "it was sent without a credit, or releases more packets than it has received";
    default:
      return "it is not authentic";
  }
}

gate::gate(const gate_options& given)
    : given_(given),
      reports_(given.credits, std::max<std::size_t>((given.credits - reserve_per_peer) / 2, 1)),
      flows_(static_cast<std::size_t>(given.size)) {
  seals_.reserve(2 * flows_.size());
  for (rank_t peer = 0; peer < given.size; ++peer) {
    seals_.emplace_back(given.crypto, given.key, given.rank, peer, given.sealed);
    seals_.emplace_back(given.crypto, given.key, peer, given.rank, given.sealed);
  }
}

wire_header gate::seal(rank_t dest, packet_kind kind, std::uint64_t header, std::byte* wire,
                       std::size_t payload_bytes) noexcept {
  const flow& own = with(dest);
  wire_header made{.seal = {},
                   .header = header,
                   .source = static_cast<std::uint32_t>(given_.rank),
                   .sequence = static_cast<std::uint32_t>(own.next_out),
                   .shape = (std::uint32_t{static_cast<std::uint8_t>(kind)} << bytes_bits) |
                            static_cast<std::uint32_t>(payload_bytes),
                   .released = own.released_in};
  std::memcpy(wire, &made, sizeof made);
  const bytes_view covered{wire + sizeof made.seal, sizeof made - sizeof made.seal + payload_bytes};
  made.seal = seals_[2 * static_cast<std::size_t>(dest)].tag(own.next_out, covered);
  std::memcpy(wire, &made.seal, sizeof made.seal);
  return made;
}

void gate::sent(rank_t dest, std::uint32_t released) noexcept {
  flow& own = with(dest);
  ++own.next_out;
  own.announced = released;
}

admission gate::admit(bytes_view arrived, admitted_packet& out) noexcept {
  const admission found = judge(arrived, out);
  ++counts_[static_cast<std::size_t>(found)];
  return found;
}

admission gate::judge(bytes_view arrived, admitted_packet& out) noexcept {
  wire_header found;
  if (arrived.size() < sizeof found) return admission::too_short;
  std::memcpy(&found, arrived.data(), sizeof found);
  if (found.source >= static_cast<std::uint32_t>(given_.size)) return admission::wrong_source;
  flow& own = flows_[found.source];

  // The half of the number that does not travel is the one that lies nearest to the number that is due.
  const auto ahead = static_cast<std::int32_t>(found.sequence - static_cast<std::uint32_t>(own.next_in));
  const std::uint64_t number = own.next_in + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead));
  const bytes_view covered = arrived.subspan(sizeof found.seal);
  if (!seals_[2 * found.source + 1].verify(found.seal, number, covered)) return admission::wrong_seal;
  if (ahead < 0) return admission::wrong_sequence;

  // A rank of this job made it.
  out.source = static_cast<rank_t>(found.source);
  if (ahead > 0) return admission::lost;
  const std::size_t payload_bytes = found.shape & bytes_mask;
  if (payload_bytes > given_.packet_bytes_max || payload_bytes != arrived.size() - sizeof found) {
    return admission::invalid_size;
  }
  const auto kind = static_cast<packet_kind>(found.shape >> bytes_bits);
  if (kind < packet_kind::data || kind > packet_kind::abort) return admission::invalid_kind;
  const bool is_data = kind == packet_kind::data;
  if (!is_data && payload_bytes != 0) return admission::invalid_kind;
  if (is_data && !own.heard_goodbye && own.data_in - own.released_in >= given_.credits) {
    return admission::invalid_credits;
  }
  if (found.released - own.released_out > own.data_out - own.released_out) return admission::invalid_credits;

  ++own.next_in;
  if (is_data) ++own.data_in;
  const bool leaves = kind == packet_kind::goodbye;
  if (leaves) own.has_left = true;
  out = {.source = static_cast<rank_t>(found.source),
         .kind = kind,
         .header = found.header,
         .payload = arrived.subspan(sizeof found),
         .released = leaves || found.released != own.released_out};
  own.released_out = found.released;
  return admission::admitted;
}

std::uint64_t gate::refused() const noexcept {
  const std::uint64_t shown = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  return shown - count(admission::admitted);
}

}  // namespace amity::fabric::ofi
