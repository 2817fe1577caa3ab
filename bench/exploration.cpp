/// Explores a graph from handlers that send, and from handlers that fill a queue: AM++ (Willcock et al., PACT 2010),
/// section 4.2, on its graphs: random ones of Erdos and Renyi, and a cycle through all vertices, so that each can be
/// reached.

#include "apps/graph/kernels/explore.hpp"

#include <string>

#include "amity/base/random.hpp"
#include "apps/graph/generate/erdos_renyi.hpp"
#include "apps/graph/store/build.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

using namespace apps::graph;

sample measure_ranks(world& w, int scale, bool nested) {
  const vertex vertices = vertex{1} << scale;
  const erdos_renyi edges({.vertices = vertices, .edges = 4 * std::uint64_t{vertices}, .cycle = true});
  const auto graph = build_graph<vertex>(w, vertices, source_of(w, edges), {});
  std::uint64_t searches = 0;
  const double rate = median_of(5, [&] {
    const vertex root = find_place(w, graph, static_cast<vertex>(splitmix64::mix(searches++) % vertices));
    const auto found = nested ? explore_nested(w, graph, root) : explore_queued(w, graph, root);
    expect_equal("vertices explored", found.count, vertices);
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
