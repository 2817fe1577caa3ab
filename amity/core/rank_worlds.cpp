#include "amity/core/rank_worlds.hpp"

#include "amity/base/assert.hpp"
#include "amity/core/sub_fabric.hpp"

namespace amity::core {

rank_worlds::number_set rank_worlds::used() const noexcept {
  number_set set{1};
  for (std::size_t number = 0; number < members_.size(); ++number) {
    if (members_[number].owner != nullptr) set[number / 64] |= std::uint64_t{1} << number % 64;
  }
  return set;
}

void rank_worlds::add(endpoint& root, endpoint& owner, sub_fabric& road) {
  if (members_.empty()) {
    members_.push_back({.owner = &root});
    count_ = 1;
  }
  const std::size_t number = road.number();
  if (members_.size() <= number) members_.resize(number + 1);
  AMITY_ASSERT(number != 0 && members_[number].owner == nullptr, number);
  members_[number] = {.owner = &owner, .road = &road};
  ++count_;
}

void rank_worlds::remove(world_number number) noexcept {
  if (find(number) == nullptr) return;
  members_[number] = {};
  if (--count_ == 1) members_.clear();
}

}  // namespace amity::core
