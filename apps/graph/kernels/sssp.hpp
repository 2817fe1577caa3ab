#pragma once

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct sssp_options {
  weight delta = 0;  ///< width of a bucket; 0: chosen from the lengths
};

/// Collective: single-source shortest paths from the place `root`.
answer<weight> sssp(world& w, const distributed_graph<arc>& graph, vertex root, const sssp_options& how,
                    const observer& watch);

}  // namespace amity::apps::graph
