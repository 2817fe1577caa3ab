#pragma once

/// The frame of benchmarks of searches: a graph that is made, some roots, rates as Graph500 reports them.

#include <stdexcept>
#include <string>
#include <vector>

#include "apps/graph/generate/erdos_renyi.hpp"
#include "apps/graph/generate/kronecker.hpp"
#include "apps/graph/graph500/roots.hpp"
#include "apps/graph/graph500/statistics.hpp"
#include "apps/graph/kernels/bfs.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/build.hpp"
#include "apps/graph/verify/proof.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {

/// Shortest paths whose weights and distances are float32, as Graph500 specifies them and as peers have them.
using float32_search = apps::graph::delta_stepping<float>;
/// Shortest paths with the type that `amity graph sssp` has for fractions unless the user names another one.
using double_search = apps::graph::delta_stepping<double>;

/// Which graph a job searches, and how: its arguments.
struct search_job {
  std::string model;  ///< "kronecker" or "erdos_renyi"
  int scale;
  bool from_below;
  std::string weights = "float32";  ///< or "double"; searches without weights ignore it

  static search_job from(const arguments& args) {
    const auto given = [&](std::string_view name) { return args.find(name)->second; };
    return {given("model"), std::stoi(given("scale")), given("below") == "1", given("weights")};
  }
  arguments to_arguments() const {
    return {
        {"model", model}, {"scale", std::to_string(scale)}, {"below", from_below ? "1" : "0"}, {"weights", weights}};
  }
};

namespace detail {

template <class Search>
struct arc_of;
template <>
struct arc_of<apps::graph::breadth_first_search> {
  using type = apps::graph::vertex;
};
template <class Weight>
struct arc_of<apps::graph::delta_stepping<Weight>> {
  using type = apps::graph::weighted_arc<Weight>;
};

/// `m_per_s`: the harmonic mean of searches from some roots. The first search is proved. `bytes_per_edge`: memory of
/// the graph on all ranks.
template <class Search>
sample measure_on(world& w, const apps::graph::generator auto& edges, bool from_below, std::size_t roots) {
  using namespace apps::graph;
  const auto about = edges.about();
  using arc_type = typename arc_of<Search>::type;
  const auto source = with_weights<weight_of<arc_type>>(
      source_of(w, edges), [](const edge& e) { return static_cast<weight_of<arc_type>>(e.length); });
  const auto graph = build_graph<arc_type>(w, about.vertices, source, {.undirected = about.undirected});
  Search searches(w, graph, {.from_below = from_below});
  std::vector<double> traversed, seconds;
  double messages = 0, rounds = 0;
  for (const vertex root : search_roots(w, graph, 2, roots)) {
    const auto& found = searches.run(root, [](std::uint32_t, std::uint64_t) {});
    if (traversed.empty()) {
      const std::string mistake = find_mistake(w, graph, root, found);
      if (!mistake.empty()) throw std::runtime_error("the answer is wrong: " + mistake);
    }
    traversed.push_back(static_cast<double>(traversed_edges(w, graph, found)));
    seconds.push_back(static_cast<double>(found.spent.ns) * 1e-9);
    messages += static_cast<double>(found.spent.messages) / static_cast<double>(roots);
    rounds += static_cast<double>(found.rounds) / static_cast<double>(roots);
  }
  return {{"m_per_s", rates_of(traversed, seconds).harmonic_mean * 1e-6},
          {"ms", spread_of(seconds).median * 1e3},
          {"messages", messages},
          {"rounds", rounds},
          {"bytes_per_edge", static_cast<double>(w.sum(graph.bytes())) / static_cast<double>(about.edges)}};
}

}  // namespace detail

template <class Search>
sample measure_searches(world& w, const search_job& wanted, std::size_t roots) {
  using namespace apps::graph;
  if (wanted.model == "kronecker")
    return detail::measure_on<Search>(w, kronecker({.scale = wanted.scale}), wanted.from_below, roots);
  const vertex vertices = vertex{1} << wanted.scale;
  const erdos_renyi edges({.vertices = vertices, .edges = 4 * std::uint64_t{vertices}, .cycle = false});
  return detail::measure_on<Search>(w, edges, wanted.from_below, roots);
}

}  // namespace amity::bench
