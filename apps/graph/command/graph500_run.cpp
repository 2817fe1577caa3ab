/// The Graph500 benchmark: breadth-first searches and shortest paths of one Kronecker graph from 64 roots, checked, in
/// the output format of the reference code.

#include <algorithm>
#include <vector>

#include "apps/graph/command/kernels.hpp"
#include "apps/graph/console/console.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/generate/kronecker.hpp"
#include "apps/graph/graph500/result.hpp"
#include "apps/graph/graph500/roots.hpp"
#include "apps/graph/kernels/bfs.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/build.hpp"
#include "apps/graph/verify/proof.hpp"

namespace amity::apps::graph {
namespace {

double seconds_since(world& w, std::uint64_t begun_ns) {
  return static_cast<double>(w.max(w.now_ns() - begun_ns)) * 1e-9;
}

/// All searches of one kernel. The traversed edges of each are the same for both kernels.
template <class Search, class Graph>
graph500_searches search_all(session& job, const char* name, const Graph& graph, Search& search, std::size_t roots,
                             std::vector<double>& edges) {
  world& w = job.ranks();
  graph500_searches result{.kernel = name, .seconds = {}, .validate_seconds = {}};
  edges.clear();
  job.watcher().begin(name, roots, false, "search");
  // Vertices have other places in each graph, but roots are the same vertices.
  for (const vertex root : search_roots(w, graph, job.wanted().seed, roots)) {
    const auto& found = search.run(root, [](std::uint32_t, std::uint64_t) {});
    result.seconds.push_back(static_cast<double>(found.spent.ns) * 1e-9);
    edges.push_back(static_cast<double>(traversed_edges(w, graph, found)));
    if (job.wanted().verify) {
      const std::uint64_t begun_ns = w.now_ns();
      const std::string mistake = find_mistake(w, graph, root, found);
      result.validate_seconds.push_back(seconds_since(w, begun_ns));
      if (!mistake.empty()) job.give_up("amity: graph: the answer is wrong: " + mistake);
    }
    job.watcher().advance_by(1);
  }
  job.watcher().finish(counted(result.seconds.size(), "search"));
  return result;
}

}  // namespace

int run_graph500(session& job) {
  world& w = job.ranks();
  const options& wanted = job.wanted();
  const int scale = wanted.kronecker.value_or(16);
  const kronecker made({.scale = scale, .edge_factor = wanted.edge_factor, .seed = wanted.seed});
  // Edges are made anew whenever they are needed: generation takes no time of its own.
  const build_options how{.kind = wanted.owners, .undirected = true};
  const std::size_t roots = wanted.repeat > 0 ? static_cast<std::size_t>(wanted.repeat) : 64;
  graph500_result result{.scale = scale,
                         .edge_factor = wanted.edge_factor,
                         .generation_seconds = 0,
                         .construction_seconds = 0,
                         .ranks = w.size(),
                         .edges = {},
                         .kernels = {}};
  job.watcher().begin("building", 0, false);
  {
    const std::uint64_t begun_ns = w.now_ns();
    const auto graph = build_graph<vertex>(w, made.about().vertices, source_of(w, made), how);
    result.construction_seconds = seconds_since(w, begun_ns);
    job.watcher().finish(counted(graph.arcs, "arc"));
    breadth_first_search search(w, graph, {.from_below = !wanted.top_down});
    result.kernels.push_back(search_all(job, "bfs", graph, search, roots, result.edges));
  }
  job.watcher().begin("building, with lengths", 0, false);
  const auto graph = build_graph<arc>(w, made.about().vertices, source_of(w, made), how);
  job.watcher().finish(counted(graph.arcs, "arc"));
  delta_stepping search(w, graph, {.delta = wanted.delta});
  result.kernels.push_back(search_all(job, "sssp", graph, search, roots, result.edges));
  job.on_first([&] { print_text(to_text(result)); });
  return 0;
}

}  // namespace amity::apps::graph
