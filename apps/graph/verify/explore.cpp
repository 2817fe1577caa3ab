#include "apps/graph/kernels/explore.hpp"
#include "apps/graph/kernels/bfs.hpp"

namespace amity::apps::graph {

std::uint64_t mistakes_of(world& w, const distributed_graph<vertex>& graph, vertex root, const exploration& found) {
  breadth_first_search search(w, graph, {});
  const answer<level>& expected = search.run(root, [](std::uint32_t, std::uint64_t) {});
  std::uint64_t mistakes = 0, reached = 0;
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    for (vertex row = 0; row < graph.parts[i].size(); ++row) {
      const bool is_reached = expected.parts[i].distance[row] != unreached<level>;
      mistakes += is_reached != found.parts[i].contains(row);
      reached += is_reached;
    }
  }
  return w.sum(mistakes) + (w.sum(reached) == found.count ? 0 : 1);
}

}  // namespace amity::apps::graph
