#pragma once

/// Where the benchmarks of active messages run: TCP on the loopback device, and the simulated cluster of the paper.

#include <optional>
#include <string>
#include <vector>

#include "bench/harness.hpp"

namespace amity::bench {

/// Two ranks on two nodes.
struct am_network {
  std::string name;  ///< as rows show it
  bool is_simulated;
  job ranks;
};

/// The running benchmark's job on each network that this build has.
std::vector<am_network> am_networks(const driver& d, const arguments& args);

/// Runs it on simulated nodes of 16 ranks; nothing if this build lacks the simulator's command.
std::optional<job> am_cluster(const driver& d, int ranks, const arguments& args);

/// Name of the simulated network, with the cost of handlers.
std::string am_simulated_name();

}  // namespace amity::bench
