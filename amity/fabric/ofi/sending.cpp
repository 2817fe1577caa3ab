#include "amity/fabric/ofi/ofi_fabric.hpp"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstring>

namespace amity::fabric::ofi {

status ofi_fabric::try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept {
  peer_state& to = peer(dest);
  if (!gate_.has_credit(dest, of)) return refused(to, of);
  if (payload.size() <= caps_.inline_bytes_max && dest != rank_ && to.backlog.empty() &&
      inject(dest, packet_kind::data, header, payload)) {
    ++gate_.with(dest).data_out;
    return status::ok;
  }
  slot filled;
  if (acquire(dest, filled, of) != status::ok) return status::again;
  if (!payload.empty()) std::memcpy(filled.data, payload.data(), payload.size());
  commit(dest, header, filled, payload.size());
  return status::ok;
}

status ofi_fabric::acquire(rank_t dest, slot& out, claim of) noexcept {
  peer_state& to = peer(dest);
  if (!gate_.has_credit(dest, of) || !is_free_for(of, to.slots_used, given_.credits)) return refused(to, of);
  const std::uint32_t index = take_slot(to);
  ++gate_.with(dest).data_out;
  out = {.data = sending_.payload(index), .capacity = static_cast<std::uint32_t>(given_.packet_bytes), .id = index};
  return status::ok;
}

void ofi_fabric::commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept {
  if (dest == rank_) return commit_to_self(header, filled.id, payload_bytes);
  outgoing_[filled.id] = {
      .header = header, .bytes = static_cast<std::uint32_t>(payload_bytes), .dest = dest, .kind = packet_kind::data};
  send_or_queue(filled.id);
}

void ofi_fabric::commit_to_self(std::uint64_t header, std::uint32_t index, std::size_t payload_bytes) noexcept {
  const auto token = static_cast<std::uint32_t>(receive_count_ + index);
  sources_[token] = rank_;
  arrived_.push(
      {.header = header, .payload = {sending_.payload(index), payload_bytes}, .source = rank_, .token = token});
}

bool ofi_fabric::inject(rank_t dest, packet_kind kind, std::uint64_t header, bytes_view payload) noexcept {
  alignas(16) std::array<std::byte, injected_bytes_max> bytes;
  if (!payload.empty()) std::memcpy(bytes.data() + header_bytes, payload.data(), payload.size());
  const std::uint32_t released = gate_.seal(dest, kind, header, bytes.data(), payload.size()).released;
  const ssize_t status =
      fi_inject(port_.endpoint(), bytes.data(), header_bytes + payload.size(), addresses_[to_index(dest)]);
  if (status == -FI_EAGAIN) return false;
  if (status != 0) lose(dest, static_cast<int>(-status));
  gate_.sent(dest, released);
  peer(dest).unreachable_since_ns = 0;
  return true;
}

bool ofi_fabric::post(std::uint32_t index) noexcept {
  outgoing& packet = outgoing_[index];
  std::byte* const wire = sending_.wire(index);
  const std::uint64_t number = gate_.with(packet.dest).next_out;
  if (packet.sealed_number != number) {
    packet.released = gate_.seal(packet.dest, packet.kind, packet.header, wire, packet.bytes).released;
    packet.sealed_number = number;
  }
  const std::size_t bytes = header_bytes + packet.bytes;
  const fi_addr_t to = addresses_[to_index(packet.dest)];
  const bool injected = bytes <= port_.info().tx_attr->inject_size && packet.kind == packet_kind::data;
  const ssize_t status =
      injected ? fi_inject(port_.endpoint(), wire, bytes, to)
               : fi_send(port_.endpoint(), wire, bytes, sending_.descriptor(), to, &contexts_[receive_count_ + index]);
  if (status == -FI_EAGAIN) return false;
  if (status != 0) lose(packet.dest, static_cast<int>(-status));
  gate_.sent(packet.dest, packet.released);
  if (injected || status != 0) {
    free_slot(index);
  } else {
    ++posted_;
  }
  peer(packet.dest).unreachable_since_ns = 0;
  return true;
}

void ofi_fabric::send_or_queue(std::uint32_t index) noexcept {
  peer_state& to = peer(outgoing_[index].dest);
  if (to.backlog.empty() && post(index)) return;
  to.backlog.push(index);
  mark_busy(outgoing_[index].dest);
}

void ofi_fabric::send_spare(rank_t dest, packet_kind kind) noexcept {
  const std::uint32_t index = spare_slot(dest);
  peer(dest).spare_is_busy = true;
  outgoing_[index] = {.header = 0, .bytes = 0, .dest = dest, .kind = kind};
  send_or_queue(index);
}

void ofi_fabric::mark_busy(rank_t dest) noexcept {
  peer_state& to = peer(dest);
  if (to.is_busy) return;
  to.is_busy = true;
  busy_.push_back(dest);
}

void ofi_fabric::send_backlogs() noexcept {
  std::erase_if(busy_, [this](rank_t dest) {
    peer_state& to = peer(dest);
    while (!to.backlog.empty() && post(to.backlog.front())) to.backlog.pop();
    if (!to.backlog.empty()) return false;
    if (to.owes_credits && !announce(dest)) return false;
    to.is_busy = false;
    to.unreachable_since_ns = 0;
    return true;
  });
}

void ofi_fabric::free_slot(std::uint32_t index) noexcept {
  const auto owner = static_cast<rank_t>(index / (given_.credits + 1));
  peer_state& to = peer(owner);
  if (index == spare_slot(owner)) {
    to.spare_is_busy = false;
    return;
  }
  to.free_slots.push(index);
  --to.slots_used;
  credit_came_back(owner);
}

void ofi_fabric::credit_came_back(rank_t from) noexcept {
  peer_state& to = peer(from);
  if (!to.refused || !gate_.has_credit(from, *to.refused) || !is_free_for(*to.refused, to.slots_used, given_.credits))
    return;
  to.refused.reset();
  credit_is_back_ = true;
}

std::uint32_t ofi_fabric::spare_slot(rank_t peer) const noexcept {
  return static_cast<std::uint32_t>(to_index(peer) * (given_.credits + 1) + given_.credits);
}

}  // namespace amity::fabric::ofi
