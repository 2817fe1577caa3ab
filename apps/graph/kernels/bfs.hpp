#pragma once

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct bfs_options {
  /// Looks for parents from below where that is less work (direction-optimising). Wants a graph in which each arc has
  /// its opposite.
  bool from_below = false;
};

/// Collective: breadth-first search from the place `root`.
answer<level> bfs(world& w, const distributed_graph<vertex>& graph, vertex root, const bfs_options& how,
                  const observer& watch);

}  // namespace amity::apps::graph
