#include "amity/fabric/sim/credits.hpp"

namespace amity::fabric::sim {
namespace {

constexpr std::uint32_t in_flight_mask = ~std::uint32_t{0} >> 1;

}  // namespace

bool credits::take(rank_t dest, std::uint64_t now_ns) {
  peer& to = record_of(dest, now_ns);
  if (to.in_flight >= most_ && next_any_ns_ <= now_ns) [[unlikely]]
    look_up(now_ns);
  if (to.in_flight < most_) [[likely]] {
    to.in_flight = (to.in_flight + 1) & in_flight_mask;
    if (to.refused != 0) std::erase(refused_, dest);
    to.refused = 0;
    return true;
  }
  if (to.refused == 0) refused_.push_back(dest);
  to.refused = 1;
  return false;
}

peer& credits::record_of(rank_t rank, std::uint64_t now_ns) {
  if (coming_.size() >= coming_max_) look_up(now_ns);
  // Before the map grows, idle peers leave it.
  if (peers_.full() && peers_.find(rank) == nullptr) {
    look_up(now_ns);
    peers_.erase_if([](const peer& each) { return each.in_flight == 0 && each.refused == 0; });
  }
  return peers_[rank];
}

std::uint64_t credits::forget_refusals(std::uint64_t now_ns) {
  look_up(now_ns);
  std::uint64_t next = never;
  std::erase_if(refused_, [&](rank_t from) {
    if (at(from).in_flight < most_) {
      at(from).refused = 0;
      return true;
    }
    next = std::min(next, next_ns(from));
    return false;
  });
  return next;
}

std::uint64_t credits::next_ns(rank_t from) const noexcept {
  const auto next = std::ranges::find(coming_, from, &coming::from);
  return next == coming_.end() ? never : next->time_ns;
}

void credits::look_up(std::uint64_t now_ns) {
  next_any_ns_ = never;
  std::erase_if(coming_, [&](const coming& each) {
    if (each.time_ns > now_ns) {
      next_any_ns_ = std::min(next_any_ns_, each.time_ns);
      return false;
    }
    peer& back = at(each.from);
    back.in_flight = (back.in_flight - 1) & in_flight_mask;
    return true;
  });
  coming_max_ = std::max(coming_least, 2 * coming_.size());
}

}  // namespace amity::fabric::sim
