#include "tests/apps/sequential.hpp"

#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace amity::apps::graph::testing {

csr<arc> whole_graph(vertex vertices, std::span<const edge> edges, bool undirected) {
  return csr<arc>(vertices, [&](auto visit) {
    for (const edge& e : edges) {
      visit(e.source, {e.target, e.length});
      if (undirected) visit(e.target, {e.source, e.length});
    }
  });
}

paths<level> sequential_bfs(const csr<arc>& graph, vertex root) {
  auto found = nothing_reached<level>(graph.rows());
  found.distance[root] = 0;
  found.parent[root] = root;
  std::vector<vertex> queue{root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const vertex source = queue[head];
    for (const auto& [target, unused] : graph[source]) {
      if (found.distance[target] != unreached<level>) continue;
      found.distance[target] = found.distance[source] + 1;
      found.parent[target] = source;
      queue.push_back(target);
    }
  }
  return found;
}

paths<weight> sequential_sssp(const csr<arc>& graph, vertex root) {
  auto found = nothing_reached<weight>(graph.rows());
  found.distance[root] = 0;
  found.parent[root] = root;
  using entry = std::pair<weight, vertex>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> heap;
  heap.emplace(weight{0}, root);
  while (!heap.empty()) {
    const auto [distance, source] = heap.top();
    heap.pop();
    if (distance > found.distance[source]) continue;  // a shorter way was found since
    for (const arc& a : graph[source]) {
      const weight candidate = distance + a.length;
      if (candidate >= found.distance[a.target]) continue;
      found.distance[a.target] = candidate;
      found.parent[a.target] = source;
      heap.emplace(candidate, a.target);
    }
  }
  return found;
}

}  // namespace amity::apps::graph::testing
