#pragma once

/// Memory for the ranks of a node that no launcher of amity's has started: the lowest of them creates it, the others
/// open its descriptor through /proc. It has no name, so nothing is left behind however the job ends.

#include <memory>
#include <vector>

#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/peer_watch.hpp"

namespace amity::fabric::shm {

struct node_memory {
  job_memory job;
  std::shared_ptr<peer_watch> watch;
};

/// Collective over the whole job. `beside` are the ranks of this node, in ascending order; each has `lanes` ranks of
/// the memory's job. Throws `error` where processes do not see one another.
node_memory share_memory(bootstrap& start, const std::vector<rank_t>& beside, rank_t lanes);

}  // namespace amity::fabric::shm
