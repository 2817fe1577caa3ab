#pragma once

/// The same searches as a textbook has them, on one thread: the oracle for the kernels.

#include "apps/graph/kernels/paths.hpp"
#include "apps/graph/store/csr.hpp"

namespace amity::apps::graph {

/// Breadth-first search with a queue.
paths<level> sequential_bfs(const csr<arc>& graph, vertex root);

/// Dijkstra's algorithm with a binary heap. Lengths are not negative.
paths<weight> sequential_sssp(const csr<arc>& graph, vertex root);

}  // namespace amity::apps::graph
