/// How many events a second the simulator gets through while 4,096 ranks search a graph: an application, with all
/// floors on top of each rank. Only searches after the first are timed; how many events they are, a run without them
/// tells.

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "bench/benchmarks.hpp"
#include "bench/graph_searches.hpp"
#include "bench/raw/raw.hpp"
#include "bench/sim_report.hpp"

namespace amity::bench {
namespace {

using namespace apps::graph;

struct run_cost {
  double events = 0;
  double wall_ns = 0;  ///< of the searches after the first
};

/// Nanoseconds, wall clock, that all searches but the first take.
double search(world& w, int scale, std::size_t searches) {
  const kronecker edges({.scale = scale});
  const auto about = edges.about();
  const auto graph = build_graph<vertex>(w, about.vertices, source_of(w, edges), {.undirected = about.undirected});
  breadth_first_search all(w, graph, {.from_below = false});
  const auto run_from = [&](vertex root) {
    const auto& found = all.run(root, [](std::uint32_t, std::uint64_t) {});
    if (traversed_edges(w, graph, found) == 0) throw std::runtime_error("a search has found nothing");
  };
  const auto roots = search_roots(w, graph, 2, searches);
  run_from(roots.front());
  w.barrier();
  return wall_ns([&] {
    std::for_each(roots.begin() + 1, roots.end(), run_from);
    w.barrier();
  });
}

run_cost run_with(job_context& job, std::size_t searches) {
  const int scale = std::stoi(job.args.at("scale"));
  settings config = settings::from_environment();
  const sim_report report(config);
  run_cost cost;
  const int status = amity::run(config, job.argc, job.argv, [&](world& w) {
    const double ns = search(w, scale, searches);
    if (w.rank() == 0) cost.wall_ns = ns;
  });
  if (status != 0) throw std::runtime_error("the run has failed");
  cost.events = report.sum("received");
  return cost;
}

int measure(job_context& job) {
  const run_cost one = run_with(job, 1);
  const run_cost several = run_with(job, job.scaled<std::size_t>(4, 2));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  print_sample({{"m_per_s", (several.events - one.events) / several.wall_ns * 1e3},
                {"events", several.events - one.events},
                {"memory_mb", static_cast<double>(usage.ru_maxrss) * 1024 * 1e-6}});
  return 0;
}

void drive(driver& d) {
  const int ranks = d.tiny() ? 64 : 4096;
  const std::string scale = d.tiny() ? "10" : "16";
  // As `amity sim` starts programs.
  contest jobs{d.ranks(ranks, {{"scale", scale}},
                       {"AMITY_FABRIC=sim", "AMITY_SIM_PACKET_BYTES=1k", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"})};
  jobs.limit = d.raw(fiber_letters.name, "raw fibers", {{"fibers", std::to_string(ranks)}});
  jobs.rounds = 3;
  const auto config = std::to_string(ranks) + " sim ranks, breadth-first searches, scale " + scale;
  d.compare(jobs, {{config, "events", "M/s", "m_per_s", "m_per_s", "", {at_least(2)}},
                   {config, "events of the searches", "", "events"},
                   {config, "peak memory", "MB", "memory_mb", "", "", {at_most(1024)}}});
}

}  // namespace

const benchmark sim_scale{"sim_scale", "events a second of breadth-first searches on 4,096 simulated ranks", drive,
                          measure};

}  // namespace amity::bench
