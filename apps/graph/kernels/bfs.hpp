#pragma once

/// Breadth-first search, level by level.

#include <memory>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct bfs_options {
  /// Looks for parents from below where that is less work (direction-optimising: Beamer, Asanovic and Patterson, SC
  /// 2012). Wants a graph in which each arc has its opposite.
  bool from_below = false;
};

/// Searches a graph from one root after the other; what it needs is kept in between. Memory of each thread: 16 bytes
/// for each of its own vertices, and one bit for each vertex of the whole graph. Where there are more than 64 threads
/// in all and `from_below` is not wanted, 2 more bytes for each own vertex take the place of the bits.
class breadth_first_search {
 public:
  /// Collective, as is the destruction. The graph must live as long.
  breadth_first_search(world& w, const distributed_graph<vertex>& graph, const bfs_options& how);
  ~breadth_first_search();

  /// Collective: from the place `root`. The answer lives until the next search.
  const answer<level>& run(vertex root, const observer& watch);

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace amity::apps::graph
