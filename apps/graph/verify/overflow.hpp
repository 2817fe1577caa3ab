#pragma once

/// Whether a search has left out vertices because their distances exceed the type of the weights.
///
/// A search keeps such a vertex unreached. It is not the same as a vertex without a path, so the command reports it
/// even if the answer is not checked.

#include <optional>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// An edge from a reached vertex to an unreached one.
template <weight Weight>
struct overflowing_edge {
  vertex source;  ///< both are numbers of vertices
  vertex target;
  Weight distance;  ///< of the source
  Weight length;    ///< of the edge; the sum with the distance exceeds the type
};

/// Collective: the edge with the least target, and the least source among those; the same on all ranks. Costs a pass
/// over the vertices; if the greatest distance and the greatest weight together exceed the type, a pass over the arcs,
/// and a message for each arc whose sum does.
template <weight Weight>
std::optional<overflowing_edge<Weight>> find_overflow(world& w, const distributed_graph<weighted_arc<Weight>>& graph,
                                                      const answer<Weight>& found);

}  // namespace amity::apps::graph
