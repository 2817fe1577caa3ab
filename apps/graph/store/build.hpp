#pragma once

/// Makes a distributed graph of edges that lie anywhere in the job, by messages alone: no rank ever has more than its
/// share, and nobody keeps a table of where vertices are.

#include <functional>
#include <span>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// The edges of a graph that lie with one thread: gives all of them to `take`, some at a time. It is called several
/// times on each thread, and gives the same edges each time. Every edge of the graph lies with one thread of one rank.
template <class Weight>
using weighted_edge_taker = std::function<void(std::span<const weighted_edge<Weight>>)>;
template <class Weight>
using weighted_edge_source = std::function<void(const thread&, const weighted_edge_taker<Weight>& take)>;

using edge_taker = weighted_edge_taker<float>;
using edge_source = weighted_edge_source<float>;

/// This thread's share of edges that its rank keeps in one array, which must outlive the source.
template <class Weight>
weighted_edge_source<Weight> source_of(std::span<const weighted_edge<Weight>> edges) {
  return [edges](const thread& t, const weighted_edge_taker<Weight>& take) {
    const auto [first, last] = t.share(edges.size());
    take(edges.subspan(first, last - first));
  };
}
template <class Weight>
weighted_edge_source<Weight> source_of(const std::vector<weighted_edge<Weight>>& edges) {
  return source_of(std::span<const weighted_edge<Weight>>(edges));
}

struct build_options {
  distribution kind = distribution::cyclic;
  bool undirected = false;  ///< each edge is two arcs, a loop one
  /// Drops loops, and all but the shortest of the arcs that join the same two vertices.
  bool simple = true;
};

/// Collective: the graph of `vertices` vertices whose edges lie with `edges`. `Arc` is `vertex` or a `weighted_arc`.
/// Throws `amity::error` for more vertices than places can tell apart, and for an edge to a vertex that there is none.
template <class Arc>
distributed_graph<Arc> build_graph(world& w, vertex vertices, const weighted_edge_source<weight_of<Arc>>& edges,
                                   const build_options& how);

}  // namespace amity::apps::graph
