#include "amity/fabric/ofi/gate.hpp"

#include <cstring>
#include <numeric>

namespace amity::fabric::ofi {
namespace {

constexpr std::uint32_t bytes_bits = 24;
constexpr std::uint32_t bytes_mask = (1u << bytes_bits) - 1;

constexpr std::uint64_t pair(std::uint32_t high, std::uint32_t low) { return (std::uint64_t{high} << 32) | low; }

}  // namespace

gate::gate(const gate_options& given) : given_(given), flows_(static_cast<std::size_t>(given.size)) {}

std::uint64_t gate::seal_of(const wire_header& made, rank_t target, std::uint64_t number) const noexcept {
  sip_state state(given_.key);
  state.add(made.header);
  state.add(pair(made.source, static_cast<std::uint32_t>(target)));
  state.add(number);
  state.add(pair(made.shape, made.released));
  return state.finish();
}

wire_header gate::make(rank_t dest, packet_kind kind, std::uint64_t header, std::size_t payload_bytes) const noexcept {
  const flow& own = with(dest);
  wire_header made{.seal = 0,
                   .header = header,
                   .source = static_cast<std::uint32_t>(given_.rank),
                   .sequence = static_cast<std::uint32_t>(own.next_out),
                   .shape = (std::uint32_t{static_cast<std::uint8_t>(kind)} << bytes_bits) |
                            static_cast<std::uint32_t>(payload_bytes),
                   .released = own.released_in};
  made.seal = seal_of(made, dest, own.next_out);
  return made;
}

void gate::sent(rank_t dest, const wire_header& made) noexcept {
  flow& own = with(dest);
  ++own.next_out;
  own.announced = made.released;
}

admission gate::admit(bytes_view arrived, admitted_packet& out) noexcept {
  const admission found = judge(arrived, out);
  ++counts_[static_cast<std::size_t>(found)];
  return found;
}

admission gate::judge(bytes_view arrived, admitted_packet& out) noexcept {
  wire_header found;
  if (arrived.size() < sizeof found) return admission::wrong_size;
  std::memcpy(&found, arrived.data(), sizeof found);
  if (found.source >= static_cast<std::uint32_t>(given_.size)) return admission::wrong_source;
  flow& own = flows_[found.source];

  // The half of the number that does not travel is the one that lies nearest to the number that is due.
  const auto ahead = static_cast<std::int32_t>(found.sequence - static_cast<std::uint32_t>(own.next_in));
  const std::uint64_t number = own.next_in + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead));
  if (found.seal != seal_of(found, given_.rank, number)) return admission::wrong_seal;
  if (ahead != 0) return ahead > 0 ? admission::lost : admission::wrong_sequence;

  // A rank of this job has made it. What follows fails only if that rank has a bug, and must do no harm then.
  const std::size_t payload_bytes = found.shape & bytes_mask;
  if (payload_bytes > given_.packet_bytes_max || payload_bytes != arrived.size() - sizeof found) {
    return admission::wrong_size;
  }
  const auto kind = static_cast<packet_kind>(found.shape >> bytes_bits);
  if (kind < packet_kind::data || kind > packet_kind::abort) return admission::wrong_kind;
  const bool is_data = kind == packet_kind::data;
  if (!is_data && payload_bytes != 0) return admission::wrong_kind;
  if (is_data && !own.heard_goodbye && own.data_in - own.released_in >= given_.credits) {
    return admission::wrong_credits;
  }
  if (found.released - own.released_out > own.data_out - own.released_out) return admission::wrong_credits;

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
