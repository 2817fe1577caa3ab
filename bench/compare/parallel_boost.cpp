/// Parallel Boost.Graph: breadth-first search and delta-stepping on a distributed CSR graph.
///
/// Usage: mpirun -n RANKS parallel_boost erdos_renyi|kronecker SCALE ROOTS [DELTA]
/// Prints `bfs_...` and `sssp_...`. What is timed favours it: a breadth-first search colors vertices and records
/// nothing (a parent or a level would be a message more for each tree edge), and shortest paths have no predecessors;
/// memory for the answers is there before the clock starts.

// First, since it makes the parallel forms of what the others declare known to them.
#include <boost/graph/use_mpi.hpp>

#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/distributed/compressed_sparse_row_graph.hpp>
#include <boost/graph/distributed/delta_stepping_shortest_paths.hpp>
#include <boost/graph/distributed/mpi_process_group.hpp>
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/environment.hpp>

#include "bench/compare/graphs.hpp"
#include "bench/compare/rates.hpp"

namespace amity::bench::compare {
namespace {

using boost::graph::distributed::mpi_process_group;

struct vertex_data {
  boost::default_color_type color = boost::white_color;
  float distance = 0;
};

struct edge_data {
  float length = 0;
};

using digraph = boost::compressed_sparse_row_graph<boost::directedS, vertex_data, edge_data, boost::no_property,
                                                   boost::distributedS<mpi_process_group>>;
using descriptor = boost::graph_traits<digraph>::vertex_descriptor;

/// Loops and parallel arcs stay: nothing here drops them.
digraph load(const graph& g, const mpi_process_group& group) {
  const boost::parallel::block owners(group, g.vertices());
  const auto me = process_id(group);
  std::vector<std::pair<vertex, vertex>> arcs;
  std::vector<edge_data> lengths;
  const auto add = [&](vertex u, vertex v, float w) {
    if (static_cast<int>(owners(u)) != me) return;
    arcs.emplace_back(u, v);
    lengths.push_back({w});
  };
  for (std::uint64_t i = 0; i < g.edges(); ++i) {
    const auto [u, v, w] = g(i);
    add(u, v, w);
    if (g.both_ways) add(v, u, w);
  }
  return {boost::edges_are_unsorted_multi_pass, arcs.begin(), arcs.end(), lengths.begin(), g.vertices(), group, owners};
}

class comparison {
 public:
  comparison(const graph& g, float delta) : plan_(g), delta_(delta), graph_(load(g, group_)) {}

  void search_from(std::uint64_t roots) {
    for (std::uint64_t k = 0, taken = 0; taken < roots; ++k) {
      const descriptor root = boost::vertex(plan_.root(k), graph_);
      const bool usable = get(get(boost::vertex_owner, graph_), root) == process_id(group_) && leads_away(root);
      if (!boost::mpi::all_reduce(world_, usable, std::logical_or<bool>())) continue;
      ++taken;
      search(root);
    }
  }

  void print() const {
    if (world_.rank() > 0) return;
    std::printf("{");
    bfs_.print("bfs_", ", ");
    sssp_.print("sssp_", "}\n");
  }

 private:
  void search(descriptor root) {
    const auto color = get(&vertex_data::color, graph_);
    const double bfs_seconds = seconds([&] { breadth_first_search(graph_, root, boost::color_map(color)); });
    bfs_.add(edges_within([&](descriptor v) { return get(color, v) != boost::white_color; }), bfs_seconds);
    // Made anew for each search: what such a map remembers of others' vertices is not set back by the next one.
    const auto distance = get(&vertex_data::distance, graph_);
    const double sssp_seconds = seconds([&] {
      boost::graph::distributed::delta_stepping_shortest_paths(graph_, root, boost::dummy_property_map(), distance,
                                                               get(&edge_data::length, graph_), delta_);
    });
    sssp_.add(edges_within([&](descriptor v) { return get(distance, v) < std::numeric_limits<float>::max(); }),
              sssp_seconds);
    check(distance);
  }

  /// Looks at the arcs between vertices of this rank, whose distances are at hand: none may lead to a shorter path.
  template <class Distance>
  void check(const Distance& distance) const {
    const auto owner = get(boost::vertex_owner, graph_);
    const auto length = get(&edge_data::length, graph_);
    for (auto [v, last] = vertices(graph_); v != last; ++v) {
      for (auto [e, end] = out_edges(*v, graph_); e != end; ++e) {
        const auto to = target(*e, graph_);
        if (get(owner, to) != process_id(group_)) continue;
        if (get(distance, to) <= get(distance, *v) + get(length, *e)) continue;
        std::fprintf(stderr, "wrong answer: there is a shorter path\n");
        world_.abort(1);
      }
    }
  }

  bool leads_away(descriptor v) const {
    for (auto [e, end] = out_edges(v, graph_); e != end; ++e) {
      if (target(*e, graph_) != v) return true;
    }
    return false;
  }

  template <class Work>
  double seconds(Work&& work) const {
    world_.barrier();
    const double begin = MPI_Wtime();
    work();
    world_.barrier();
    return MPI_Wtime() - begin;
  }

  template <class Reached>
  std::uint64_t edges_within(Reached&& reached) const {
    std::uint64_t mine = 0;
    for (auto [v, end] = vertices(graph_); v != end; ++v) mine += reached(*v) ? out_degree(*v, graph_) : 0;
    return boost::mpi::all_reduce(world_, mine, std::plus<std::uint64_t>()) / (plan_.both_ways ? 2 : 1);
  }

  const graph& plan_;
  float delta_;
  boost::mpi::communicator world_;
  mpi_process_group group_;
  digraph graph_;
  rates bfs_, sssp_;
};

}  // namespace
}  // namespace amity::bench::compare

// NOLINTNEXTLINE(bugprone-exception-escape): an exception ends the program with its name.
int main(int argc, char** argv) {
  namespace compare = amity::bench::compare;
  const boost::mpi::environment environment(argc, argv);
  if (argc < 4) {
    std::fprintf(stderr, "usage: mpirun -n RANKS %s erdos_renyi|kronecker SCALE ROOTS [DELTA]\n", argv[0]);
    return 2;
  }
  const compare::graph plan(argv[1], std::atoi(argv[2]));
  compare::comparison compared(plan, argc > 4 ? std::strtof(argv[4], nullptr) : 0.25F);
  compared.search_from(std::strtoull(argv[3], nullptr, 10));
  compared.print();
  return 0;
}
