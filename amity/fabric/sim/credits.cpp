#include "amity/fabric/sim/credits.hpp"

namespace amity::fabric::sim {
namespace {

constexpr std::uint32_t in_flight_mask = ~std::uint32_t{0} >> 3;

constexpr std::uint32_t bit_of(claim of) noexcept { return 1u << static_cast<std::uint32_t>(of); }

}  // namespace

bool credits::take(rank_t dest, claim of, std::uint64_t now_ns) {
  peer& to = record_of(dest, now_ns);
  const std::uint32_t in_flight_max = limit(of);
  if (to.in_flight >= in_flight_max && next_any_ns_ <= now_ns) [[unlikely]]
    look_up(now_ns);
  if (to.in_flight < in_flight_max) [[likely]] {
    to.in_flight = (to.in_flight + 1) & in_flight_mask;
    if (to.refused != 0) {
      // What is served no later than this could have been taken, too.
      to.refused = to.refused & (bit_of(of) - 1) & 7;
      if (to.refused == 0) std::erase(refused_, dest);
    }
    return true;
  }
  if (to.refused == 0) refused_.push_back(dest);
  to.refused = (to.refused | bit_of(of)) & 7;
  return false;
}

std::size_t credits::missing(const peer& by) const noexcept {
  const std::uint32_t in_flight_max = limit(refused_claim(by));
  return by.in_flight < in_flight_max ? 0 : by.in_flight - in_flight_max + 1;
}

bool credits::ends_refusal(rank_t from) const noexcept {
  const peer& by = *peers_.find(from);
  if (by.refused == 0) return false;
  const std::size_t needed = missing(by);
  return needed <= 1 || static_cast<std::size_t>(std::ranges::count(coming_, from, &coming::from)) >= needed;
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
    if (missing(at(from)) == 0) {
      at(from).refused = 0;
      return true;
    }
    next = std::min(next, next_ns(from));
    return false;
  });
  return next;
}

std::uint64_t credits::next_ns(rank_t from) const noexcept {
  std::size_t needed = missing(*peers_.find(from));
  if (needed == 0) return 0;
  for (const coming& each : coming_) {
    if (each.from == from && --needed == 0) return each.time_ns;
  }
  return never;
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
