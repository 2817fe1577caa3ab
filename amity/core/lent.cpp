#include "amity/core/lent.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/reassembly.hpp"
#include "amity/core/registry.hpp"

namespace amity::core {

lent_buffer::packets lent_buffer::left(std::size_t packet_bytes_max) const noexcept {
  const auto packets_for = [](std::uint64_t bytes, std::uint64_t each) { return (bytes + each - 1) / each; };
  if (done()) return {0, 0};
  if (header.kind() != packet_kind::fragment) {
    return {packets_for(rest.size(), packet_bytes_max - packet_bytes_max % item_bytes), rest.size()};
  }
  const std::size_t content_max = packet_bytes_max - sizeof(fragment_header);
  const std::uint64_t whole_items = bytes_left() / item_bytes;
  const std::uint64_t fragments =
      whole_items * packets_for(item_bytes, content_max) + packets_for(bytes_left() % item_bytes, content_max);
  return {fragments, bytes_left() + fragments * sizeof(fragment_header)};
}

std::size_t lent_buffer::send_some(fabric::fabric& to, rank_t lane) {
  const bool whole = header.kind() != packet_kind::fragment;
  std::size_t sent = 0;
  while (!done() && (whole ? send_packet(to, lane) : send_fragment(to, lane))) ++sent;
  return sent;
}

bool lent_buffer::send_packet(fabric::fabric& to, rank_t lane) {
  const std::size_t bytes_max = to.caps().packet_bytes_max;
  const bytes_view packet = rest.first(std::min(bytes_max - bytes_max % item_bytes, rest.size()));
  if (to.try_send(lane, with_world(header.word(), world), packet, claim_of(header)) != status::ok) return false;
  rest = rest.subspan(packet.size());
  return true;
}

// A part of one message that no packet can hold.
bool lent_buffer::send_fragment(fabric::fabric& to, rank_t lane) {
  fabric::slot slot;
  if (to.acquire(lane, slot, claim_of(header)) != status::ok) return false;
  const std::uint64_t item_left = (bytes_left() - 1) % item_bytes + 1;
  const fragment_header head{.message = fragmented, .total = item_bytes, .offset = item_bytes - item_left};
  const std::size_t content = std::min<std::size_t>(to.caps().packet_bytes_max - sizeof head, item_left);
  try {
    fill({slot.data + sizeof head, content});
  } catch (...) {
    to.commit(lane, service_header(service::wake).word(), slot, 0);
    throw;
  }
  std::memcpy(slot.data, &head, sizeof head);
  to.commit(lane, with_world(header.word(), world), slot, sizeof head + content);
  if (content == item_left) ++fragmented;
  return true;
}

void lent_buffer::fill(mutable_bytes content) {
  if (stream == nullptr) {
    std::memcpy(content.data(), rest.data(), content.size());
    rest = rest.subspan(content.size());
    return;
  }
  const std::size_t produced = stream->produce(content);
  if (produced != content.size()) {
    throw error("sending a message", no_rank,
                fmt::format("a value of type '{}' produced {} of the next {} bytes of {}",
                            handlers->at(header.handler()).name, produced, content.size(), item_bytes),
                "do not change the value from another thread while it is sent");
  }
  stream_left -= content.size();
}

}  // namespace amity::core
