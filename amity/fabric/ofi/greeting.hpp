#pragma once

/// What processes exchange through the launcher before their endpoints can: the key of the job, the provider that they
/// use, and the addresses of the endpoints.

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/neighbourhood.hpp"
#include "amity/fabric/ofi/seal.hpp"

namespace amity::fabric::ofi {

/// All lanes of the job.
struct company {
  job_key key;
  rank_t threads = 1;           ///< lanes of a process
  std::vector<rank_t> node_of;  ///< by lane: the lowest lane of its node
  int cpus = 1;                 ///< that the lanes of this node share
  bool one_node() const noexcept { return std::ranges::count(node_of, 0) == std::ssize(node_of); }
  /// Of whom people read: the process.
  rank_t rank_of(rank_t lane) const noexcept { return lane / threads; }
};

/// Collective. `found` is the provider that this process has found, and becomes that of rank 0: hosts need not find the
/// same one first, and one does not understand another.
company greet(bootstrap& start, const neighbourhood& known, rank_t threads, std::string& found);

/// Collective: the addresses of all lanes, by lane, where each process gives its own.
std::vector<std::string> gather_addresses(bootstrap& start, const std::vector<std::string>& own);

}  // namespace amity::fabric::ofi
