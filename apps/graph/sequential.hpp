#pragma once

/// The same searches as a textbook has them, on one thread: the oracle for the kernels.

#include "apps/graph/csr.hpp"
#include "apps/graph/paths.hpp"

namespace amity::apps::graph {

/// Breadth-first search with a queue.
paths<level> sequential_bfs(const csr<arc>& graph, vertex root);

/// Dijkstra's algorithm with a binary heap. Lengths are not negative.
paths<length> sequential_sssp(const csr<arc>& graph, vertex root);

}  // namespace amity::apps::graph
