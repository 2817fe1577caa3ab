/// Explores a graph from handlers that send, and from handlers that fill a queue: AM++ (Willcock et al., PACT 2010),
/// section 4.2, on its graphs: random ones of Erdos and Renyi, and a cycle through all vertices, so that each can be
/// reached.

#include "apps/graph/kernels/explore.hpp"

#include <string>
#include <vector>

#include "amity/base/random.hpp"
#include "apps/graph/store/build.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

using namespace apps::graph;

/// This rank's share of `degree` random edges a vertex and of the cycle, of 2^scale vertices.
std::vector<edge> random_edges(const world& w, int scale, std::uint64_t degree) {
  const std::uint64_t vertices = std::uint64_t{1} << scale;
  const auto number = [&](std::uint64_t bits) { return static_cast<vertex>(bits & (vertices - 1)); };
  // Odd factors and shifts by at least half the bits can be undone: a place in the cycle for each vertex.
  const auto in_cycle = [&](std::uint64_t i) {
    vertex v = number(i * 0x9e3779b1);
    v ^= v >> (scale + 1) / 2;
    return number(std::uint64_t{v} * 0x85ebca6b);
  };
  std::vector<edge> mine;
  for (std::uint64_t v = static_cast<std::uint64_t>(w.rank()); v < vertices;
       v += static_cast<std::uint64_t>(w.size())) {
    for (std::uint64_t i = 0; i < degree; ++i) {
      const std::uint64_t random = splitmix64::mix(v * degree + i);
      mine.push_back({number(random >> 32), number(random), 1});
    }
    mine.push_back({in_cycle(v), in_cycle(v + 1), 1});
  }
  return mine;
}

sample measure_ranks(world& w, int scale, bool nested) {
  const auto mine = random_edges(w, scale, 4);
  const auto graph = build_graph<vertex>(w, vertex{1} << scale, source_of(mine), {});
  std::uint64_t searches = 0;
  const double rate = median_of(5, [&] {
    const vertex root = find_place(w, graph, static_cast<vertex>(splitmix64::mix(searches++) % graph.vertices()));
    const auto found = nested ? explore_nested(w, graph, root) : explore_queued(w, graph, root);
    expect_equal("vertices explored", found.count, graph.vertices());
    return static_cast<double>(graph.arcs) / static_cast<double>(found.spent.ns) * 1e3;
  });
  const int lines = nested ? AMITY_BENCH_NESTED_LINES : AMITY_BENCH_QUEUED_LINES;
  return {{"m_per_s", rate}, {"lines", lines}};
}

void drive(driver& d) {
  for (const int scale : {18, 20}) {
    const arguments size{{"scale", std::to_string(d.tiny() ? 10 : scale)}};
    const auto job_with = [&](const char* nested) {
      arguments all = size;
      all.emplace("nested", nested);
      return d.ranks(2, all);
    };
    contest jobs{job_with("1")};
    jobs.peer = job_with("0");
    jobs.peer->name = "queue-based";
    const std::string config = "2^" + size.at("scale") + " vertices of degree 4, and a cycle";
    d.compare(jobs, {{config, "arcs followed", "M/s", "m_per_s", "", "m_per_s", {ratio_at_least(1)}},
                     {config, "lines of code", "lines", "lines", "", "lines", {ratio_at_most(1)}}});
  }
}

int measure(job_context& job) {
  const int scale = std::stoi(job.args.at("scale"));
  const bool nested = job.args.at("nested") == "1";
  return run_ranks(job, [&](world& w) { return measure_ranks(w, scale, nested); });
}

}  // namespace

const benchmark exploration{"exploration", "graph exploration by nested messages, and with a queue", drive, measure};

}  // namespace amity::bench
