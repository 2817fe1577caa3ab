/// Breadth-first search: millions of edges that a search traverses per second, on the graphs that others are measured
/// on, beside Parallel Boost.Graph and a tuned loop on one thread.

#include "bench/benchmarks.hpp"
#include "bench/graph_searches.hpp"

namespace amity::bench {
namespace {

using search = apps::graph::breadth_first_search;

int rounds_of(int scale) { return scale > 20 ? 1 : 3; }
std::size_t roots_of(const job_context& job) { return job.scaled<std::size_t>(16, 2); }

void drive_kronecker(driver& d) {
  struct size {
    int scale;
    double below, above;  // what is asked, M/s
  };
  for (const auto& [scale, below, above] :
       d.tiny() ? std::vector<size>{{10, 0, 0}} : std::vector<size>{{18, 474, 158}, {20, 396, 132}, {22, 342, 114}}) {
    const std::string title = "scale " + std::to_string(scale);
    d.compare({.ours = d.ranks(2, search_job{"kronecker", scale, true}.to_arguments()), .rounds = rounds_of(scale)},
              {{title + ", from below too", "rate", "M/s", "m_per_s", "", "", {at_least(below)}},
               {title + ", memory", "graph", "B an edge", "bytes_per_edge", "", "", {at_most(10)}}});
    const auto plain_mpi =
        d.comparison("mpi_bfs", "plain MPI", {"kronecker", std::to_string(scale), d.tiny() ? "2" : "8"}, 2);
    d.compare({.ours = d.ranks(2, search_job{"kronecker", scale, false}.to_arguments()),
               .peer = plain_mpi,
               .rounds = rounds_of(scale)},
              {{title + ", from above", "rate", "M/s", "m_per_s", "", "harmonic_m_per_s", {at_least(above)}}});
  }
}

void drive_erdos_renyi(driver& d) {
  for (const int scale : d.tiny() ? std::vector<int>{10} : std::vector<int>{18, 20}) {
    const auto peer = d.comparison("parallel_boost", "Parallel Boost.Graph",
                                   {"erdos_renyi", std::to_string(scale), d.tiny() ? "2" : "4"}, 2);
    d.compare({.ours = d.ranks(2, search_job{"erdos_renyi", scale, false}.to_arguments()), .peer = peer, .rounds = 3},
              {{"Erdos-Renyi, scale " + std::to_string(scale),
                "rate",
                "M/s",
                "m_per_s",
                "",
                "bfs_harmonic_m_per_s",
                {ratio_at_least(12)}}});
  }
}

void drive_cost(driver& d) {
  for (const int scale : d.tiny() ? std::vector<int>{10} : std::vector<int>{18, 20, 22}) {
    const auto peer =
        d.comparison("sequential_bfs", "one thread", {"kronecker", std::to_string(scale), d.tiny() ? "2" : "16"}, 0);
    std::vector<asked> wanted;
    if (scale >= 20) wanted.push_back(ratio_at_least(1));
    d.compare(
        {.ours = d.ranks(2, search_job{"kronecker", scale, true}.to_arguments()),
         .peer = peer,
         .rounds = rounds_of(scale)},
        {{"Kronecker, scale " + std::to_string(scale), "rate", "M/s", "m_per_s", "", "harmonic_m_per_s", wanted}});
  }
  for (const int scale : d.tiny() ? std::vector<int>{10} : std::vector<int>{18, 20}) {
    const auto peer = d.comparison("sequential_boost", "Boost.Graph, one thread",
                                   {"kronecker", std::to_string(scale), d.tiny() ? "2" : "4"}, 0);
    d.compare({.ours = d.ranks(2, search_job{"kronecker", scale, true}.to_arguments()), .peer = peer, .rounds = 1},
              {{"Kronecker, scale " + std::to_string(scale) + ", Boost.Graph", "rate", "M/s", "m_per_s", "",
                "bfs_harmonic_m_per_s"}});
  }
}

int measure(job_context& job) {
  return run_ranks(job,
                   [&](world& w) { return measure_searches<search>(w, search_job::from(job.args), roots_of(job)); });
}

}  // namespace

const benchmark graph500_bfs{"graph500_bfs", "breadth-first search on Graph500's Kronecker graphs", drive_kronecker,
                             measure};
const benchmark pbgl_bfs{"pbgl_bfs", "breadth-first search on random graphs with 4 edges a vertex", drive_erdos_renyi,
                         measure};
const benchmark cost_bfs{"cost_bfs", "breadth-first search on two ranks against one thread without messages",
                         drive_cost, measure};

}  // namespace amity::bench
