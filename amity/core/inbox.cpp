#include "amity/core/inbox.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace amity::core {
namespace {

world_number world_of_packet(const fabric::packet& packet) noexcept { return world_of(packet.header); }

}  // namespace

inbox::arrival inbox::kept(const fabric::packet& arrived, storage where) {
  if (where == storage::fabric) return {arrived, nullptr};
  const std::size_t bytes = arrived.payload.size();
  arrival copied{.packet = arrived, .copy = std::make_unique_for_overwrite<std::byte[]>(bytes + 1)};
  if (bytes > 0) std::memcpy(copied.copy.get(), arrived.payload.data(), bytes);
  copied.packet.payload = {copied.copy.get(), bytes};
  return copied;
}

void inbox::epoch_begins(world_number world) {
  const auto of_world =
      std::ranges::stable_partition(early_, [&](const arrival& each) { return world_of_packet(each.packet) != world; });
  due_.insert(due_.end(), std::make_move_iterator(of_world.begin()), std::make_move_iterator(of_world.end()));
  early_.erase(of_world.begin(), of_world.end());
}

std::size_t inbox::early_of(world_number world) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count(early_, world, [](const arrival& each) { return world_of_packet(each.packet); }));
}

std::optional<world_number> inbox::early_beside(world_number world) const noexcept {
  const auto found =
      std::ranges::find_if(early_, [&](const arrival& each) { return world_of_packet(each.packet) != world; });
  if (found == early_.end()) return std::nullopt;
  return world_of_packet(found->packet);
}

bool inbox::holds_due(world_number world) const noexcept {
  return std::ranges::any_of(due_, [&](const arrival& each) { return world_of_packet(each.packet) == world; });
}

fabric::disposition inbox::keep_due(const fabric::packet& arrived) {
  const bool copied = claim_of(packet_header(arrived.header)) == fabric::claim::answer;
  due_.push_back(kept(arrived, copied ? storage::copy : storage::fabric));
  return copied ? fabric::disposition::release : fabric::disposition::keep;
}

bool inbox::holds(world_number world) const noexcept {
  return holds_due(world) ||
         std::ranges::any_of(behind_, [&](const prioritized& each) { return world_of_packet(each.packet) == world; });
}

bool inbox::keep_behind(const fabric::packet& arrived, int priority, const fabric::fabric& transport) {
  if (behind_of_.empty()) {
    behind_of_.resize(static_cast<std::size_t>(transport.size()));
    behind_of_peer_max_ = std::min(transport.caps().credits_per_peer, transport.caps().slots_per_peer) / 2;
  }
  std::uint32_t& of_peer = behind_of_[static_cast<std::size_t>(arrived.source)];
  if (of_peer >= behind_of_peer_max_) return false;
  ++of_peer;
  behind_.push_back({arrived, priority, arrivals_++});
  std::ranges::push_heap(behind_, later);
  return true;
}

fabric::packet inbox::take_most_urgent() {
  std::ranges::pop_heap(behind_, later);
  const fabric::packet best = behind_.back().packet;
  behind_.pop_back();
  --behind_of_[static_cast<std::size_t>(best.source)];
  return best;
}

template <class Which>
void inbox::release_if(fabric::fabric& transport, Which&& which) noexcept {
  for (std::vector<arrival>* const list : {&early_, &due_}) {
    std::erase_if(*list, [&](const arrival& each) {
      if (!which(each.packet)) return false;
      if (each.copy == nullptr) transport.release(each.packet.token);
      return true;
    });
  }
  std::erase_if(behind_, [&](const prioritized& each) {
    if (!which(each.packet)) return false;
    transport.release(each.packet.token);
    --behind_of_[static_cast<std::size_t>(each.packet.source)];
    return true;
  });
  std::ranges::make_heap(behind_, later);
}

void inbox::release(fabric::fabric& transport) noexcept {
  release_if(transport, [](const fabric::packet&) { return true; });
}

void inbox::release(fabric::fabric& transport, world_number world) noexcept {
  release_if(transport, [&](const fabric::packet& each) { return world_of_packet(each) == world; });
}

}  // namespace amity::core
