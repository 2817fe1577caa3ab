#include "amity/core/sub_fabric.hpp"

#include <utility>

#include "amity/base/assert.hpp"

namespace amity::core {

sub_fabric::sub_fabric(const engine& own, world_number number, rank_list members)
    : below_(own.transport()),
      caps_(below_.caps()),
      number_(number),
      members_(std::move(members), own.threads(), below_.rank() % own.threads()),
      lane_(find_job_lane(below_.rank())) {
  AMITY_ASSERT(lane_ != no_rank, below_.rank(), static_cast<int>(number_));
}

rank_t sub_fabric::node_of(rank_t peer) const noexcept {
  const rank_t node = below_.node_of(job_lane(peer));
  rank_t lowest = 0;
  while (below_.node_of(job_lane(lowest)) != node) ++lowest;
  return lowest;
}

}  // namespace amity::core
