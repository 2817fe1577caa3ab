#pragma once

/// What ranks tell each other before their endpoints can: the secret of the job, who is on which node, and whether all
/// have the same settings.

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/ofi/seal.hpp"

namespace amity::fabric::ofi {

struct company {
  secret key;
  std::vector<rank_t> node_of;  ///< by rank: the lowest rank of its node
  bool one_node() const noexcept { return std::ranges::count(node_of, 0) == std::ssize(node_of); }
};

/// Collective. `agreed` is what must be the same on all ranks, and what a person reads if it is not.
company greet(bootstrap& start, const std::string& agreed);

}  // namespace amity::fabric::ofi
