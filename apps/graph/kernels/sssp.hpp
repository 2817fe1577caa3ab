#pragma once

/// Single-source shortest paths by delta-stepping.

#include <memory>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct sssp_options {
  double delta = 0;  ///< width of a bucket, at least 2^-20 of the greatest weight; 0: chosen from the weights
  /// Lets vertices look for their parents where that is less work, if the graph is undirected.
  bool from_below = true;
};

/// Searches a graph from one root after the other; what it needs is kept in between. Distances have the type of the
/// weights, and are added up from the root on. A vertex is `unreached` if no path to it has a distance that is less
/// than `unreached`; verify/overflow.hpp finds such paths.
///
/// Memory of each thread, for weights of 4 bytes and of 8: 4 or 8 bytes for each vertex of the whole graph, or 68 or
/// 136 for each of its own if that is less; 8 or 12 bytes for each of its own; and 8 or 12 for each entry of a bucket.
template <weight Weight>
class delta_stepping {
 public:
  /// Collective, as is the destruction. The graph must live as long.
  delta_stepping(world& w, const distributed_graph<weighted_arc<Weight>>& graph, const sssp_options& how);
  ~delta_stepping();

  /// Collective: from the place `root`. The answer lives until the next search.
  const answer<Weight>& run(vertex root, const observer& watch);

  double delta() const;  ///< the width of a bucket

 private:
  class state;
  std::unique_ptr<state> state_;
};

extern template class delta_stepping<float>;
extern template class delta_stepping<double>;
extern template class delta_stepping<std::int64_t>;

}  // namespace amity::apps::graph
