#pragma once

/// Memory for the ranks of a node that no launcher of amity's has started: the lowest of them creates it, the others
/// open its descriptor through /proc, or get it through a socket if the lowest cannot read /proc. The memory has no
/// name, so nothing is left behind however the job ends.

#include <memory>
#include <vector>

#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/neighbourhood.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/peer_watch.hpp"

namespace amity::fabric::shm {

struct node_memory {
  job_memory job;
  std::shared_ptr<peer_watch> watch;
};

/// Collective over the whole job. Each process of a node has `lanes` ranks of the memory's job, in ascending order.
/// Throws `error` where processes do not see one another.
node_memory share_memory(bootstrap& start, const neighbourhood& known, rank_t lanes);

}  // namespace amity::fabric::shm
