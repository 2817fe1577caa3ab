#include "amity/core/sub_fabric.hpp"

#include <utility>

#include "amity/base/assert.hpp"

namespace amity::core {

sub_fabric::sub_fabric(const engine& own, world_number number, rank_list members)
    : decorator(own.transport()),
      number_(number),
      members_(std::move(members), own.threads(), inner().rank() % own.threads()),
      lane_(find_job_lane(inner().rank())) {
  AMITY_ASSERT(lane_ != no_rank, inner().rank(), static_cast<int>(number_));
}

rank_t sub_fabric::node_of(rank_t peer) const noexcept {
  const rank_t node = inner().node_of(job_lane(peer));
  rank_t lowest = 0;
  while (inner().node_of(job_lane(lowest)) != node) ++lowest;
  return lowest;
}

}  // namespace amity::core
