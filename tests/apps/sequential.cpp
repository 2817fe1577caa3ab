#include "tests/apps/sequential.hpp"

#include <vector>

namespace amity::apps::graph::testing {

paths<level> sequential_bfs(const csr<arc>& graph, vertex root) {
  auto found = nothing_reached<level>(graph.rows());
  found.distance[root] = 0;
  found.parent[root] = root;
  std::vector<vertex> queue{root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const vertex source = queue[head];
    for (const arc& a : graph[source]) {
      const vertex target = a.target;
      if (found.distance[target] != unreached<level>) continue;
      found.distance[target] = found.distance[source] + 1;
      found.parent[target] = source;
      queue.push_back(target);
    }
  }
  return found;
}

}  // namespace amity::apps::graph::testing
