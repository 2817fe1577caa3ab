#pragma once

/// Whether a search's answer is right, found out by all ranks together.
///
/// The rules are Graph500's five: parents are a tree without cycles that hangs on the root; a vertex and its parent are
/// joined by an edge of the graph; that edge explains the distance; no edge leads to a vertex that is farther away than
/// by that edge; and what an edge leads to from the tree is on the tree. Where they hold, distances are right, to the
/// last bit of the type of the weights, on directed graphs too. By the tree, a vertex's distance is the length of a way
/// from the root, added up from the root on. Along any other way, each edge's rule gives a bound on the next vertex's
/// distance, and rounding keeps order: so no way is shorter.
///
/// All of that is one walk from the root: whoever is on the tree tells the targets of its arcs how far they are by it,
/// and a target whose parent tells it its own distance is on the tree from then on. Reached vertices to which that
/// never happens are mistakes. A message for each arc that leaves the part; one bit a vertex of the part.

#include <string>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// Collective: the first mistake in a search from the place `root`, with the vertices' numbers, their distances and the
/// rule; the same on all ranks, empty if all is right.
std::string find_mistake(world& w, const distributed_graph<vertex>& graph, vertex root, const answer<level>& found);
template <weight Weight>
std::string find_mistake(world& w, const distributed_graph<weighted_arc<Weight>>& graph, vertex root,
                         const answer<Weight>& found);

}  // namespace amity::apps::graph
