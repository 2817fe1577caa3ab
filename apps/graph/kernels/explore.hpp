#pragma once

/// Which vertices can be reached from a root, in whatever order: the exploration of AM++ (Willcock et al., PACT 2010,
/// section 4.2), in the two ways that are compared there.

#include <cstdint>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/bitmap.hpp"
#include "apps/graph/kernels/meter.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct exploration {
  std::vector<bitmap> parts;  ///< which rows of this rank's threads have been explored
  std::uint64_t count = 0;    ///< of explored vertices, on all ranks
  std::uint32_t epochs = 0;
  cost spent;
};

/// Collective: from the place `root`. Handlers explore what they reach and send messages for its neighbours elsewhere.
exploration explore_nested(world& w, const distributed_graph<vertex>& graph, vertex root);

/// Collective: from the place `root`. Handlers only put what they reach into a queue; a loop outside explores it and
/// sends. For systems whose handlers must not send.
exploration explore_queued(world& w, const distributed_graph<vertex>& graph, vertex root);

/// Collective: how many vertices are explored but not reached by a breadth-first search, or the other way round; one
/// more if the count is wrong.
std::uint64_t mistakes_of(world& w, const distributed_graph<vertex>& graph, vertex root, const exploration& found);

}  // namespace amity::apps::graph
