#pragma once

/// What processes tell each other before their endpoints can: the secret of the job, who is on which node, whether all
/// have the same settings, and the endpoints' addresses.

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/ofi/seal.hpp"

namespace amity::fabric::ofi {

/// All lanes of the job.
struct company {
  secret key;
  rank_t threads = 1;           ///< lanes of a process
  std::vector<rank_t> node_of;  ///< by lane: the lowest lane of its node
  bool one_node() const noexcept { return std::ranges::count(node_of, 0) == std::ssize(node_of); }
  /// Of whom people read: the process.
  rank_t rank_of(rank_t lane) const noexcept { return lane / threads; }
};

/// Collective. `agreed` is what must be the same on all ranks, and what a person reads if it is not.
company greet(bootstrap& start, rank_t threads, const std::string& agreed);

/// Collective: the addresses of all lanes, by lane, where each process gives its own.
std::vector<std::string> gather_addresses(bootstrap& start, const std::vector<std::string>& own);

}  // namespace amity::fabric::ofi
