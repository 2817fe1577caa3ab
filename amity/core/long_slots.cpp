#include "amity/core/long_slots.hpp"

#include <stdexcept>
#include <utility>

#include "amity/core/long_receiver.hpp"

namespace amity::core {

bool borrowed_slots::expects(rank_t lane, const slot_news& news) const noexcept {
  const lender* const from = lenders_.find(lane);
  if (from == nullptr || !from->asked) return false;
  if (!from->told) return true;
  return news.first == from->first && (news.which & (from->free | ~from->lent)) == 0;
}

int borrowed_slots::take_back(rank_t lane, const slot_news& news) {
  AMITY_ASSERT(expects(lane, news), lane, news.first, news.which);
  const int count = std::popcount(news.which);
  lender& from = lenders_[lane];
  if (!from.told) {
    from.first = news.first;
    from.lent = from.free = news.which;
    from.told = std::make_unique<awaited*[]>(slots_per_peer_max);
    return count;
  }
  from.free |= news.which;
  taken_ -= static_cast<std::size_t>(count);
  for (std::uint64_t left = news.which; left != 0; left &= left - 1) {
    awaited*& told = from.told[static_cast<std::size_t>(std::countr_zero(left))];
    if (awaited* const waits = std::exchange(told, nullptr)) waits->reached();
  }
  return count;
}

void lent_slot::reached() noexcept { owner->arrive(*this, payload); }

slot_news lent_slots::lend(rank_t lane, long_receiver& owner) {
  if (loans_.size() >= slots_max / slots_per_peer_max)
    throw std::length_error("amity: slots of Long messages were lent too often");
  const auto first = static_cast<std::uint32_t>(loans_.size()) * slots_per_peer_max;
  loan& made = loans_.emplace_back(loan{.slots = std::make_unique<lent_slot[]>(each_)});
  for (std::uint32_t i = 0; i < each_; ++i) {
    made.slots[i].lane = lane;
    made.slots[i].number = first + i;
    made.slots[i].owner = &owner;
  }
  return {.which = ~std::uint64_t{0} >> (slots_per_peer_max - each_), .first = first};
}

std::size_t lent_slots::incomplete() const noexcept {
  std::size_t count = 0;
  for (const loan& each : loans_) {
    for (std::uint32_t i = 0; i < each_; ++i) count += each.slots[i].parts != lent_slot::nothing ? 1 : 0;
  }
  return count;
}

}  // namespace amity::core
