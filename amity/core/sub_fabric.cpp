#include "amity/core/sub_fabric.hpp"

#include <utility>

#include "amity/base/assert.hpp"

namespace amity::core {

sub_fabric::sub_fabric(endpoint& root, world_number number, std::vector<rank_t> members)
    : root_(&root), below_(root.transport()), number_(number), members_(std::move(members)) {
  for (std::size_t i = 0; i < members_.size(); ++i) numbers_[members_[i]] = static_cast<rank_t>(i);
  const rank_t* const own = numbers_.find(root.rank());
  AMITY_ASSERT(own != nullptr, root.rank(), static_cast<int>(number));
  rank_ = *own;
}

amity::fabric::packet sub_fabric::translate(const amity::fabric::packet& arrived) const noexcept {
  const rank_t* const source = numbers_.find(arrived.source);
  AMITY_ASSERT(source != nullptr, arrived.source, static_cast<int>(number_));
  amity::fabric::packet own = arrived;
  own.header = without_world(arrived.header);
  own.source = *source;
  return own;
}

}  // namespace amity::core
