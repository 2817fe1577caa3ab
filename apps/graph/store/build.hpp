#pragma once

/// Makes a distributed graph of edges that lie anywhere in the job, by messages alone: no rank ever has more than its
/// share, and nobody keeps a table of where vertices are.

#include <functional>
#include <span>

#include "amity/amity.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// The edges of a graph that lie with one thread: gives all of them to `take`, some at a time. It is called several
/// times on each thread, and gives the same edges each time. Every edge of the graph lies with one thread of one rank.
using edge_taker = std::function<void(std::span<const edge>)>;
using edge_source = std::function<void(const thread&, const edge_taker& take)>;

/// This thread's share of edges that its rank keeps in one array, which must outlive the source.
edge_source source_of(std::span<const edge> edges);

struct build_options {
  ownership kind = ownership::cyclic;
  bool undirected = false;  ///< each edge is two arcs, a loop one
  /// Drops loops, and all but the shortest of the arcs that join the same two vertices.
  bool simple = true;
};

/// Collective: the graph of `vertices` vertices whose edges lie with `edges`. `Arc` is `vertex` or `arc`. Throws
/// `amity::error` for more vertices than places can tell apart, and for an edge to a vertex that there is none.
template <class Arc>
distributed_graph<Arc> build_graph(world& w, vertex vertices, const edge_source& edges, const build_options& how);

}  // namespace amity::apps::graph
