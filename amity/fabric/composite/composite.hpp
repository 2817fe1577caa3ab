#pragma once

/// Two fabrics as one: packets to ranks of the same node take the local one, all others the network.
///
/// Each pair of ranks uses one of the two, so order, credits and back-pressure of a pair are those of its fabric. What
/// is the same for all packets, such as the largest, is the smaller of both.
///
/// Memory is that of the node, and attached to the network for ranks of other nodes (`composite_memory`).
///
/// Budget of a local send or packet: a look-up, a branch and a second indirect call. The network is looked at in every
/// poll while something comes from there, and otherwise so rarely that it takes a few percent of the time.

#include <memory>

#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"

namespace amity::fabric {

/// What a composite of fabrics like these can do.
capabilities describe_composite(const capabilities& local, const capabilities& network);

/// `network` has all lanes of the job, knows their nodes, and need not reach those of the own node; `local` those of
/// this process's node, in ascending order, and hands packets over under the ranks that their sources have in the whole
/// job. They share `cpus` CPUs.
std::unique_ptr<lanes> make_composite(std::unique_ptr<lanes> local, std::unique_ptr<lanes> network, int cpus);

}  // namespace amity::fabric
