/// Shortest paths: millions of edges that a search traverses per second, on the graphs that others are measured on.

#include <stdexcept>
#include <string>
#include <vector>

#include "apps/graph/generate/erdos_renyi.hpp"
#include "apps/graph/generate/kronecker.hpp"
#include "apps/graph/graph500/roots.hpp"
#include "apps/graph/graph500/statistics.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/verify/proof.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

using namespace apps::graph;

/// `m_per_s`, as Graph500 reports it: the harmonic mean of searches from some roots. The first search is proved.
sample measure_searches(world& w, const generator auto& edges, std::size_t roots) {
  const auto about = edges.about();
  const auto graph = build_graph<arc>(w, about.vertices, source_of(w, edges), {.undirected = about.undirected});
  delta_stepping searches(w, graph, {});
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
  return {{"m_per_s", rates_of(traversed, seconds).harmonic_mean * 1e-6}, {"messages", messages}, {"rounds", rounds}};
}

int measure_kronecker(job_context& job) {
  const int scale = std::stoi(job.args.at("scale"));
  return run_ranks(
      job, [&](world& w) { return measure_searches(w, kronecker({.scale = scale}), job.scaled<std::size_t>(16, 2)); });
}

int measure_erdos_renyi(job_context& job) {
  const vertex vertices = vertex{1} << std::stoi(job.args.at("scale"));
  return run_ranks(job, [&](world& w) {
    const erdos_renyi edges({.vertices = vertices, .edges = 4 * std::uint64_t{vertices}, .cycle = false});
    return measure_searches(w, edges, job.scaled<std::size_t>(16, 2));
  });
}

struct size {
  int scale;
  double asked_m_per_s;
};

void drive(driver& d, const std::string& title, std::vector<size> sizes) {
  if (d.tiny()) sizes = {{10, 0}};
  for (const auto& [scale, asked_m_per_s] : sizes) {
    d.compare({.ours = d.ranks(2, {{"scale", std::to_string(scale)}}), .rounds = scale > 20 ? 1 : 3},
              {{title + std::to_string(scale), "rate", "M/s", "m_per_s", "", "", {at_least(asked_m_per_s)}}});
  }
}

void drive_kronecker(driver& d) { drive(d, "Kronecker, scale ", {{18, 105}, {20, 78}, {22, 54}}); }
void drive_erdos_renyi(driver& d) { drive(d, "Erdos-Renyi, scale ", {{18, 82}, {20, 40}}); }

}  // namespace

const benchmark graph500_sssp{"graph500_sssp", "shortest paths on Graph500's Kronecker graphs", drive_kronecker,
                              measure_kronecker};
const benchmark pbgl_sssp{"pbgl_sssp", "shortest paths on random graphs with 4 edges a vertex", drive_erdos_renyi,
                          measure_erdos_renyi};

}  // namespace amity::bench
