#pragma once

/// How many triangles a graph has.

#include <cstdint>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct triangles {
  std::uint64_t count = 0;
  std::uint64_t wedges = 0;  ///< pairs of neighbours of one vertex; three of each triangle's are joined themselves
  cost spent;
};

/// Collective. Each triangle counts once. Wants a simple graph in which each arc has its opposite. Memory of each
/// thread: one bit for each place of the whole graph and 4 bytes for each of its own vertices. `watch` is told how many
/// vertices are dealt with; a round is a share of them.
triangles count_triangles(world& w, const distributed_graph<vertex>& graph, const observer& watch);

/// Collective: the count by another way. Each wedge is a message that asks for the third side.
std::uint64_t count_closed_wedges(world& w, const distributed_graph<vertex>& graph);

}  // namespace amity::apps::graph
