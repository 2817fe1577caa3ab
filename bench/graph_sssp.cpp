/// Shortest paths: millions of edges that a search traverses per second, on the graphs that others are measured on,
/// beside Parallel Boost.Graph and a tuned loop on one thread.

#include "bench/benchmarks.hpp"
#include "bench/graph_searches.hpp"

namespace amity::bench {
namespace {

int rounds_of(int scale) { return scale > 20 ? 1 : 3; }

/// Graph500 specifies float32, and the peers have it too. `amity graph sssp` uses double unless the user names float32.
arguments job_of(const char* model, int scale, const char* weights = "float32") {
  return search_job{model, scale, true, weights}.to_arguments();
}

void drive_kronecker(driver& d) {
  struct size {
    int scale;
    double asked_m_per_s;
  };
  for (const auto& [scale, asked_m_per_s] :
       d.tiny() ? std::vector<size>{{10, 0}} : std::vector<size>{{18, 105}, {20, 78}, {22, 54}}) {
    d.compare({.ours = d.ranks(2, job_of("kronecker", scale)), .rounds = rounds_of(scale)},
              {{"scale " + std::to_string(scale), "rate", "M/s", "m_per_s", "", "", {at_least(asked_m_per_s)}},
               {"scale " + std::to_string(scale) + ", graph", "memory", "B/edge", "bytes_per_edge", "", ""}});
  }
  const int scale = d.tiny() ? 10 : 18;
  d.compare({.ours = d.ranks(2, job_of("kronecker", scale, "double")), .rounds = rounds_of(scale)},
            {{"scale " + std::to_string(scale) + ", double", "rate", "M/s", "m_per_s", "", ""},
             {"scale " + std::to_string(scale) + ", double, graph", "memory", "B/edge", "bytes_per_edge", "", ""}});
}

void drive_erdos_renyi(driver& d) {
  for (const int scale : d.tiny() ? std::vector<int>{10} : std::vector<int>{18, 20}) {
    const auto peer = d.comparison("parallel_boost", "Parallel Boost.Graph",
                                   {"erdos_renyi", std::to_string(scale), d.tiny() ? "2" : "4"}, 2);
    d.compare({.ours = d.ranks(2, job_of("erdos_renyi", scale)), .peer = peer, .rounds = 3},
              {{"Erdos-Renyi, scale " + std::to_string(scale),
                "rate",
                "M/s",
                "m_per_s",
                "",
                "sssp_harmonic_m_per_s",
                {ratio_at_least(8)}}});
  }
}

void drive_cost(driver& d) {
  for (const int scale : d.tiny() ? std::vector<int>{10} : std::vector<int>{18, 20, 22}) {
    const auto peer =
        d.comparison("sequential_sssp", "one thread", {"kronecker", std::to_string(scale), d.tiny() ? "2" : "16"}, 0);
    d.compare({.ours = d.ranks(2, job_of("kronecker", scale)), .peer = peer, .rounds = rounds_of(scale)},
              {{"Kronecker, scale " + std::to_string(scale),
                "rate",
                "M/s",
                "m_per_s",
                "",
                "harmonic_m_per_s",
                {ratio_at_least(1)}}});
  }
  for (const int scale : d.tiny() ? std::vector<int>{10} : std::vector<int>{18, 20}) {
    const auto peer = d.comparison("sequential_boost", "Boost.Graph, one thread",
                                   {"kronecker", std::to_string(scale), d.tiny() ? "2" : "4"}, 0);
    d.compare({.ours = d.ranks(2, job_of("kronecker", scale)), .peer = peer, .rounds = 1},
              {{"Kronecker, scale " + std::to_string(scale) + ", Boost.Graph", "rate", "M/s", "m_per_s", "",
                "dijkstra_harmonic_m_per_s"}});
  }
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) {
    const search_job wanted = search_job::from(job.args);
    const auto roots = job.scaled<std::size_t>(16, 2);
    return wanted.weights == "double" ? measure_searches<double_search>(w, wanted, roots)
                                      : measure_searches<float32_search>(w, wanted, roots);
  });
}

}  // namespace

const benchmark graph500_sssp{"graph500_sssp", "shortest paths on Graph500's Kronecker graphs", drive_kronecker,
                              measure};
const benchmark pbgl_sssp{"pbgl_sssp", "shortest paths on random graphs with 4 edges a vertex", drive_erdos_renyi,
                          measure};
const benchmark cost_sssp{"cost_sssp", "shortest paths on two ranks against one thread without messages", drive_cost,
                          measure};

}  // namespace amity::bench
