#pragma once

/// Single-source shortest paths by delta-stepping.

#include <memory>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct sssp_options {
  weight delta = 0;  ///< width of a bucket; 0: chosen from the lengths
  /// Lets vertices look for their parents where that is less work, if the graph is undirected.
  bool from_below = true;
};

/// Searches a graph from one root after the other; what it needs is kept in between. Memory of each thread: 4 bytes for
/// each vertex of the whole graph, or 68 for each of its own if that is less; 8 bytes for each of its own; and 8 for
/// each entry of a bucket.
class delta_stepping {
 public:
  /// Collective, as is the destruction. The graph must live as long.
  delta_stepping(world& w, const distributed_graph<arc>& graph, const sssp_options& how);
  ~delta_stepping();

  /// Collective: from the place `root`. The answer lives until the next search.
  const answer<weight>& run(vertex root, const observer& watch);

  weight delta() const;  ///< the width of a bucket

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace amity::apps::graph
