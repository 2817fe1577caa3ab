#pragma once

/// Where the processes of a job are: what each learns of the others before any fabric is made.

#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"

namespace amity::fabric {

struct neighbourhood {
  std::vector<rank_t> node_of;  ///< by process: the lowest process of its node
  int cpus = 1;                 ///< that the processes of this node may use together: launchers bind each to some
};

/// Collective: processes tell each other where they are, and compare what they must agree in. Throws `error`, which
/// names a setting and both its values, where they do not.
neighbourhood meet(bootstrap& start, const settings& config);

/// The ranks on the node of `rank`, in ascending order.
std::vector<rank_t> ranks_beside(rank_t rank, const std::vector<rank_t>& node_of);

}  // namespace amity::fabric
