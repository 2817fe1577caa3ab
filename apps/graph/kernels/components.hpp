#pragma once

/// Connected components.

#include <cstdint>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct components {
  /// For each row of this rank's parts the place of one vertex of its component, the same for the whole component.
  std::vector<large_array<vertex>> labels;
  std::uint64_t count = 0;    ///< of components; a vertex without arcs is one
  std::uint64_t largest = 0;  ///< vertices of the largest one
  std::uint32_t rounds = 0;
  cost spent;
};

/// Collective. Wants a graph in which each arc has its opposite; of a directed graph, built as undirected, it finds the
/// weak components. Memory of each thread: 8 bytes for each of its vertices. `watch` is told how many vertices know
/// their component.
components connected_components(world& w, const distributed_graph<vertex>& graph, const observer& watch);

/// Collective: for each row the number of the first vertex of its component, in the order of the input: the same for
/// any number of ranks.
std::vector<large_array<vertex>> first_of_components(world& w, const distributed_graph<vertex>& graph,
                                                     const components& found);

/// Collective: how many mistakes there are in labels and count; that there are none proves both. From every vertex that
/// is its own label, the label spreads along the arcs. It must meet no other label: no component has two. It must come
/// everywhere: no two components have the same.
std::uint64_t mistakes_of(world& w, const distributed_graph<vertex>& graph, const components& found);

}  // namespace amity::apps::graph
