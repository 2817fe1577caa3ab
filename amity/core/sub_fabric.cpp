#include "amity/core/sub_fabric.hpp"

#include <utility>

#include "amity/base/assert.hpp"

namespace amity::core {

sub_fabric::sub_fabric(endpoint& root, world_number number, rank_list members)
    : root_(&root),
      below_(root.transport()),
      number_(number),
      members_(std::move(members)),
      rank_(members_.find(root.rank())) {
  AMITY_ASSERT(rank_ != no_rank, root.rank(), static_cast<int>(number));
}

rank_t sub_fabric::node_of(rank_t peer) const noexcept {
  const rank_t node = below_.node_of(root_rank(peer));
  rank_t lowest = 0;
  while (below_.node_of(root_rank(lowest)) != node) ++lowest;
  return lowest;
}

amity::fabric::packet sub_fabric::translate(const amity::fabric::packet& arrived) const noexcept {
  const rank_t source = members_.find(arrived.source);
  AMITY_ASSERT(source != no_rank, arrived.source, static_cast<int>(number_));
  amity::fabric::packet own = arrived;
  own.header = without_world(arrived.header);
  own.source = source;
  return own;
}

}  // namespace amity::core
