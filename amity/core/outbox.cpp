#include "amity/core/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "amity/base/assert.hpp"

namespace amity::core {

outbox::counts& outbox::counts_of(world_number world) {
  if (of_world_.size() <= world) of_world_.resize(world + std::size_t{1});
  return of_world_[world];
}

std::unique_ptr<owned_packet> outbox::open_packet(std::size_t capacity) {
  auto opened = std::make_unique<owned_packet>(capacity);
  memory_.add_held(opened->memory_bytes());
  return opened;
}

void outbox::push(rank_t lane, world_number world, packet_header header, std::unique_ptr<owned_packet> filled,
                  std::size_t bytes) {
  const std::size_t memory = filled->memory_bytes();
  messages_for(lane, header).packets.push_back({with_world(header.word(), world), std::move(filled), bytes});
  ++counts_of(world).packets;
  ++waiting_;
  memory_.subtract_held(memory);
  memory_.add_leaving(memory);
}

void outbox::push(rank_t lane, lent_buffer buffer) {
  add(buffer);
  messages_for(lane, buffer.header).buffers.push_back(std::move(buffer));
}

void outbox::push_newest_first(rank_t lane, lent_buffer buffer) {
  add(buffer);
  auto& queue = messages_for(lane, buffer.header).buffers;
  const bool behind_first = !queue.empty() && queue.front().begun() && !buffer.begun();
  queue.insert(queue.begin() + (behind_first ? 1 : 0), std::move(buffer));
}

void outbox::add(const lent_buffer& buffer) {
  counts_of(buffer.world).packets += buffer.left(packet_bytes_max_).count;
  ++waiting_;
  memory_.add_leaving(buffer.memory_bytes());
}

void outbox::push_control(rank_t lane, world_number world, packet_header header, bytes_view payload) {
  AMITY_ASSERT(payload.size() <= control_bytes_max, payload.size());
  control_packet waiting{.word = with_world(header.word(), world), .payload = {}, .bytes = payload.size()};
  if (!payload.empty()) std::memcpy(waiting.payload.data(), payload.data(), payload.size());
  peers_[lane].control.push_back(waiting);
  ++counts_of(world).control;
  ++waiting_;
  memory_.add_leaving(sizeof waiting);
}

bool outbox::holds(rank_t lane, packet_header header) const noexcept {
  const auto found = peers_.find(lane);
  if (found == peers_.end()) return false;
  const peer& queue = found->second;
  if (!queue.control.empty() || is_control(header.kind())) return !queue.control.empty();
  return queue.without_epoch.size() > 0 || (header.epoch() != no_epoch && queue.of_epoch.size() > 0);
}

bool outbox::drain(fabric::fabric& transport) {
  drained out;
  for (auto each = peers_.begin(); each != peers_.end();) {
    drain(transport, each->first, each->second, out);
    each = each->second.size() == 0 ? peers_.erase(each) : std::next(each);
  }
  return out.any;
}

// What comes first is refused last: once a peer has refused a packet, it would refuse all that comes after it.
void outbox::drain(fabric::fabric& transport, rank_t lane, peer& queue, drained& out) {
  if (!drain_control(transport, lane, queue.control, out)) return;
  if (!drain_messages(transport, lane, queue.without_epoch, out)) return;
  drain_messages(transport, lane, queue.of_epoch, out);
}

bool outbox::drain_control(fabric::fabric& transport, rank_t lane, std::vector<control_packet>& queue, drained& out) {
  auto next = queue.begin();
  for (; next != queue.end(); ++next) {
    if (transport.try_send(lane, next->word, {next->payload.data(), next->bytes},
                           claim_of(packet_header(next->word))) != status::ok)
      break;
    --of_world_[world_of(next->word)].control;
    memory_.subtract_leaving(sizeof(control_packet));
    --waiting_;
    out.any = true;
  }
  const bool all = next == queue.end();
  queue.erase(queue.begin(), next);
  return all;
}

bool outbox::drain_messages(fabric::fabric& transport, rank_t lane, messages& queue, drained& out) {
  while (!queue.packets.empty()) {
    const waiting_packet& newest = queue.packets.back();
    if (transport.try_send(lane, newest.word, {newest.packet->data(), newest.bytes},
                           claim_of(packet_header(newest.word))) != status::ok)
      return false;
    --of_world_[world_of(newest.word)].packets;
    memory_.subtract_leaving(newest.packet->memory_bytes());
    queue.packets.pop_back();
    --waiting_;
    out.any = true;
  }
  auto next = queue.buffers.begin();
  for (; next != queue.buffers.end(); ++next) {
    const std::size_t sent = next->send_some(transport, lane);
    of_world_[next->world].packets -= sent;
    out.any |= sent > 0;
    if (!next->done()) break;
    memory_.subtract_leaving(next->memory_bytes());
    --waiting_;
    out.buffers.push_back(std::move(*next));
  }
  const bool all = next == queue.buffers.end();
  queue.buffers.erase(queue.buffers.begin(), next);
  return all;
}

template <class Drop>
void outbox::erase_buffers(messages& of, std::vector<lent_buffer>& erased, Drop&& drop) {
  const auto gone = std::ranges::stable_partition(of.buffers, [&](const lent_buffer& each) { return !drop(each); });
  for (lent_buffer& each : gone) {
    of_world_[each.world].packets -= each.left(packet_bytes_max_).count;
    memory_.subtract_leaving(each.memory_bytes());
    --waiting_;
    erased.push_back(std::move(each));
  }
  of.buffers.erase(gone.begin(), gone.end());
}

void outbox::drop_buffers(world_number world, handler_id handler) {
  std::vector<lent_buffer> erased;
  for (auto& [lane, queue] : peers_) {
    for (messages* const each : {&queue.without_epoch, &queue.of_epoch}) {
      erase_buffers(*each, erased, [&](const lent_buffer& buffer) {
        return buffer.world == world && buffer.header.handler() == handler;
      });
    }
  }
  std::erase_if(peers_, [](const auto& each) { return each.second.size() == 0; });
}

void outbox::drop(world_number world) {
  std::vector<lent_buffer> erased;
  for (auto& [lane, queue] : peers_) {
    std::erase_if(queue.control, [&](const control_packet& each) {
      if (world_of(each.word) != world) return false;
      memory_.subtract_leaving(sizeof each);
      --waiting_;
      return true;
    });
    for (messages* const of : {&queue.without_epoch, &queue.of_epoch}) {
      std::erase_if(of->packets, [&](const waiting_packet& each) {
        if (world_of(each.word) != world) return false;
        memory_.subtract_leaving(each.packet->memory_bytes());
        --waiting_;
        return true;
      });
      erase_buffers(*of, erased, [&](const lent_buffer& buffer) { return buffer.world == world; });
    }
  }
  std::erase_if(peers_, [](const auto& each) { return each.second.size() == 0; });
  if (world < of_world_.size()) of_world_[world] = {};
}

}  // namespace amity::core
