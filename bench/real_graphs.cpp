/// Searches and components of graphs that people have made: a finite-element mesh, and the words of a dictionary. The
/// peer is one rank.

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/graph_share.hpp"
#include "apps/graph/input/lengths.hpp"
#include "apps/graph/kernels/components.hpp"
#include "bench/benchmarks.hpp"
#include "bench/graph_searches.hpp"

namespace amity::bench {
namespace {

using namespace apps::graph;

struct real_graph {
  const char* name;
  const char* file;
};
constexpr real_graph graphs[] = {
    {"mesh (METIS's mdual)", "/usr/share/doc/libmetis-dev/examples/graphs/mdual.graph"},
    {"WordNet", "/usr/share/wordnet"},
};

template <class Search, class Arc>
double median_ms(world& w, const distributed_graph<Arc>& graph, std::size_t roots) {
  Search searches(w, graph, {.from_below = true});
  std::vector<double> ms;
  for (const vertex root : search_roots(w, graph, 2, roots)) {
    const auto& found = searches.run(root, [](std::uint32_t, std::uint64_t) {});
    if (ms.empty()) {
      const std::string mistake = find_mistake(w, graph, root, found);
      if (!mistake.empty()) throw std::runtime_error("the answer is wrong: " + mistake);
    }
    ms.push_back(static_cast<double>(found.spent.ns) * 1e-6);
  }
  return spread_of(ms).median;
}

sample measure_file(world& w, const std::string& file, std::size_t roots) {
  progress quiet(progress::style::off);
  graph_share read = read_graph(w, file, {}, {}, quiet);
  const build_options how{.undirected = true};
  const auto bare = build_graph<vertex>(w, read.vertices, edges_of<float>(read), how);
  std::vector<double> component_ms;
  for (std::size_t i = 0; i < roots; ++i) {
    const components found = connected_components(w, bare, [](std::uint32_t, std::uint64_t) {});
    if (i == 0 && mistakes_of(w, bare, found) > 0) throw std::runtime_error("the components are wrong");
    component_ms.push_back(static_cast<double>(found.spent.ns) * 1e-6);
  }
  const double bfs_ms = median_ms<breadth_first_search>(w, bare, roots);
  set_lengths(w, read, "uniform", 1, quiet, {.type = weight_type::float64});
  const auto weighted = build_graph<weighted_arc<double>>(w, read.vertices, edges_of<double>(read), how);
  return {{"bfs_ms", bfs_ms},
          {"sssp_ms", median_ms<double_search>(w, weighted, roots)},
          {"components_ms", spread_of(component_ms).median}};
}

void drive(driver& d) {
  for (const real_graph& graph : graphs) {
    if (!std::filesystem::exists(graph.file)) {
      std::fprintf(stderr, "bench: %s is not there (libmetis-doc, wordnet-base)\n", graph.file);
      continue;
    }
    job alone = d.ranks(1, {{"file", graph.file}});
    alone.name = "one rank";
    const std::string name = graph.name;
    d.compare({.ours = d.ranks(2, {{"file", graph.file}}), .peer = alone, .rounds = 3},
              {{name + ", bfs", "time", "ms", "bfs_ms", "", "bfs_ms"},
               {name + ", sssp", "time", "ms", "sssp_ms", "", "sssp_ms"},
               {name + ", components", "time", "ms", "components_ms", "", "components_ms"}});
  }
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_file(w, job.args.at("file"), job.scaled<std::size_t>(16, 2)); });
}

}  // namespace

const benchmark real_graphs{"real_graphs", "searches and components of a mesh and of a dictionary", drive, measure};

}  // namespace amity::bench
