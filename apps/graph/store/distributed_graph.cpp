#include "apps/graph/store/distributed_graph.hpp"

#include <algorithm>

namespace amity::apps::graph {

template <class Arc>
std::uint64_t distributed_graph<Arc>::bytes() const {
  std::uint64_t total = 0;
  for (const auto& part : parts) {
    total +=
        part.rows.bytes() + part.vertex_of.size() * sizeof(vertex) + part.input_degree.size() * sizeof(std::uint32_t);
  }
  return total;
}

template <class Arc>
vertex find_place(world& w, const distributed_graph<Arc>& graph, vertex wanted) {
  std::uint64_t found = no_vertex;
  for (const auto& part : graph.parts) {
    const auto at = std::ranges::find(part.vertex_of, wanted);
    if (at != part.vertex_of.end()) found = part.first + static_cast<vertex>(at - part.vertex_of.begin());
  }
  return static_cast<vertex>(w.min(found));
}

template struct distributed_graph<vertex>;
template struct distributed_graph<weighted_arc<float>>;
template struct distributed_graph<weighted_arc<double>>;
template struct distributed_graph<weighted_arc<std::int64_t>>;
template vertex find_place(world&, const distributed_graph<vertex>&, vertex);
template vertex find_place(world&, const distributed_graph<weighted_arc<float>>&, vertex);
template vertex find_place(world&, const distributed_graph<weighted_arc<double>>&, vertex);
template vertex find_place(world&, const distributed_graph<weighted_arc<std::int64_t>>&, vertex);

}  // namespace amity::apps::graph
