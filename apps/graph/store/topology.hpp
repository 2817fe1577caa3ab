#pragma once

/// How messages about vertices travel: straight to their owners where ranks are few, over a grid where they are many
/// and a packet for each of them would leave nearly empty.

#include "amity/amity.hpp"

namespace amity::apps::graph {

/// Beyond, a grid is faster for searches of graphs with some thousand vertices a rank, and packets for all ranks would
/// take more memory than the graph.
inline constexpr rank_t direct_ranks_max = 64;

/// Calls use(topology) with the one for the job's size. What it is used for is compiled for each: straight messages
/// carry no label.
template <class Use>
decltype(auto) with_topology(const world& w, Use use) {
  return w.size() <= direct_ranks_max ? use(direct()) : use(grid());
}

}  // namespace amity::apps::graph
