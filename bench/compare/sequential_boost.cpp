/// Boost.Graph on one thread: breadth-first search, and Dijkstra's algorithm, on its CSR graph.
///
/// Usage: sequential_boost erdos_renyi|kronecker SCALE ROOTS
/// Prints `bfs_...` and `dijkstra_...`. Rows are numbered by falling degree, without loops and parallel arcs, as for
/// our own loops beside it. A breadth-first search records predecessors; Dijkstra's algorithm these and distances.

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

#include "bench/compare/searches.hpp"

namespace amity::bench::compare {
namespace {

struct edge_data {
  float length;
};

using digraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, edge_data, boost::no_property,
                                                   vertex, std::uint64_t>;

digraph copy_of(const rows<arc>& out) {
  std::vector<std::pair<vertex, vertex>> arcs;
  std::vector<edge_data> lengths;
  arcs.reserve(out.arcs.size());
  lengths.reserve(out.arcs.size());
  for (vertex v = 0; v < out.size(); ++v) {
    for (const arc& a : out[v]) {
      arcs.emplace_back(v, a.target);
      lengths.push_back({a.length});
    }
  }
  return {boost::edges_are_sorted,         arcs.begin(), arcs.end(), lengths.begin(),
          static_cast<vertex>(out.size()), arcs.size()};
}

class comparison {
 public:
  explicit comparison(const sequential_graph& g)
      : parent(g.out.size()), distance(g.out.size()), out_(g.out), graph_(copy_of(g.out)) {}

  void breadth_first(vertex root) {
    std::ranges::fill(parent, no_vertex);
    parent[root] = root;
    const auto predecessors = boost::make_iterator_property_map(parent.begin(), get(boost::vertex_index, graph_));
    boost::breadth_first_search(
        graph_, root,
        boost::visitor(boost::make_bfs_visitor(boost::record_predecessors(predecessors, boost::on_tree_edge()))));
  }

  void dijkstra(vertex root) {
    const auto index = get(boost::vertex_index, graph_);
    boost::dijkstra_shortest_paths(graph_, root,
                                   boost::predecessor_map(boost::make_iterator_property_map(parent.begin(), index))
                                       .distance_map(boost::make_iterator_property_map(distance.begin(), index))
                                       .weight_map(get(&edge_data::length, graph_)));
  }

  bool reached(vertex v) const { return distance[v] < std::numeric_limits<float>::max(); }

  void check_distances(vertex root) {
    // Dijkstra's algorithm makes what it has not reached a parent of itself.
    for (vertex v = 0; v < parent.size(); ++v) parent[v] = reached(v) ? parent[v] : no_vertex;
    check_paths(out_, root, distance, parent, [](const arc& a) { return std::pair(a.target, a.length); });
  }

  std::vector<vertex> parent;
  std::vector<float> distance;

 private:
  const rows<arc>& out_;
  digraph graph_;
};

int measure(const char* model, int scale, std::size_t roots) {
  const sequential_graph g = load(graph(model, scale), roots);
  comparison search(g);
  const auto measured = [&](auto&& searches, auto&& reached) {
    rates found;
    for (const vertex root : g.roots) {
      const double seconds = seconds_of([&] { searches(root); });
      found.add(g.edges_within(reached), seconds);
    }
    return found;
  };
  const rates bfs = measured([&](vertex root) { search.breadth_first(root); },
                             [&](vertex v) { return search.parent[v] != no_vertex; });
  const rates dijkstra =
      measured([&](vertex root) { search.dijkstra(root); }, [&](vertex v) { return search.reached(v); });
  search.check_distances(g.roots.back());
  std::printf("{");
  bfs.print("bfs_", ", ");
  dijkstra.print("dijkstra_", "}\n");
  return 0;
}

}  // namespace
}  // namespace amity::bench::compare

// NOLINTNEXTLINE(bugprone-exception-escape): an exception ends the program with its name.
int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s erdos_renyi|kronecker SCALE ROOTS\n", argv[0]);
    return 2;
  }
  return amity::bench::compare::measure(argv[1], std::atoi(argv[2]), static_cast<std::size_t>(std::atoi(argv[3])));
}
