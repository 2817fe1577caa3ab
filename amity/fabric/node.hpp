#pragma once

/// Which ranks of a job share a node: processes of one kernel that see each other and share one network, so that they
/// can share memory, and reach each other without leaving the machine.

#include <string>
#include <string_view>
#include <vector>

#include "amity/fabric/bootstrap.hpp"

namespace amity::fabric {

/// What names this process's node. `given` (AMITY_NODE) replaces it unless it is empty.
std::string node_identity(std::string_view given);

/// CPUs that this process may run on.
int allowed_cpus() noexcept;

/// By rank: the lowest rank of its node. `identities` is what each rank has told of itself.
std::vector<rank_t> lowest_ranks(const std::vector<std::string>& identities);

/// The ranks on the node of `rank`, in ascending order.
std::vector<rank_t> ranks_beside(rank_t rank, const std::vector<rank_t>& node_of);

}  // namespace amity::fabric
