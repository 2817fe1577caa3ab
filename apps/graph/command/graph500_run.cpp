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
#include "apps/graph/graph500/statistics.hpp"
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
graph500_searches search_all(session& job, graph500_searches result, const Graph& graph, Search& search,
                             std::size_t roots, std::vector<double>& edges) {
  world& w = job.ranks();
  edges.clear();
  job.watcher().begin(result.kernel, roots, false, "search");
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

/// What the text has, for programs.
report to_report(session& job, const graph500_result& result, const std::string& title) {
  report all("Graph500");
  all.add("kernel", job.wanted().kernel);
  job.add_job(all);
  all.add("virtual_time", job.simulated());
  all.add("graph", title);
  all.add("scale", result.scale);
  all.add("edge_factor", result.edge_factor);
  all.add("edges", result.input_edges);
  all.add("construction_seconds", result.construction_seconds);
  all.add("roots", result.edges.size());
  const std::vector<bool> small = in_small_components(result);
  all.add("small_component_roots", std::ranges::count(small, true));
  report::json searches = report::json::array();
  for (std::size_t i = 0; i < result.edges.size(); ++i) {
    report::json each{{"edges", result.edges[i]}, {"small_component", bool{small[i]}}};
    for (const auto& kernel : result.kernels) each[kernel.kernel + "_seconds"] = kernel.seconds[i];
    searches.push_back(each);
  }
  for (const auto& kernel : result.kernels) {
    const auto without_small = harmonic_mean_without_small(result, kernel);
    report::json object{{"harmonic_mean_teps", nullptr}, {"harmonic_mean_teps_without_small", nullptr}};
    if (!result.edges.empty()) object["harmonic_mean_teps"] = rates_of(result.edges, kernel.seconds).harmonic_mean;
    if (without_small) object["harmonic_mean_teps_without_small"] = *without_small;
    if (!kernel.weight_type.empty()) object["weight_type"] = kernel.weight_type;
    all.add(kernel.kernel, object);
  }
  all.add("searches", searches);
  all.add("verified", job.wanted().verify);
  return all;
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
                         .input_edges = made.about().edges,
                         .edges = {},
                         .kernels = {}};
  job.watcher().begin("building", 0, false);
  {
    const std::uint64_t begun_ns = w.now_ns();
    const auto graph = build_graph<vertex>(w, made.about().vertices, source_of(w, made), how);
    result.construction_seconds = seconds_since(w, begun_ns);
    job.watcher().finish(counted(graph.arcs, "arc"));
    breadth_first_search search(w, graph, {.from_below = !wanted.top_down});
    result.kernels.push_back(search_all(job, {.kernel = "bfs"}, graph, search, roots, result.edges));
  }
  job.watcher().begin("building, with lengths", 0, false);
  // Weights are float32 by the specification.
  const auto graph = build_graph<arc>(w, made.about().vertices, source_of(w, made), how);
  job.watcher().finish(counted(graph.arcs, "arc"));
  delta_stepping search(w, graph, {.delta = wanted.delta});
  result.kernels.push_back(
      search_all(job, {.kernel = "sssp", .weight_type = "float32"}, graph, search, roots, result.edges));
  job.on_first([&] { job.publish(to_text(result), to_report(job, result, made.about().title)); });
  return 0;
}

}  // namespace amity::apps::graph
