/// Searches on 16 to 1,024 simulated ranks, in virtual time: weak scaling, where the graph grows with the ranks, and
/// strong scaling, where it stays.

#include "bench/benchmarks.hpp"
#include "bench/graph_searches.hpp"

namespace amity::bench {
namespace {

using apps::graph::breadth_first_search;
using apps::graph::delta_stepping;

constexpr int ranks_first_log = 4;
constexpr int ranks_last_log = 10;
constexpr int weak_scale_of_rank = 12;  // 4,096 vertices
constexpr int strong_scale = 20;

void drive(driver& d, const char* kernel, bool weak) {
  const int last = d.tiny() ? ranks_first_log + 2 : ranks_last_log;
  // What computing takes here counts as virtual time.
  const std::vector<std::string> settings{"AMITY_FABRIC=sim", "AMITY_SIM_COMPUTE_PERCENT=100"};
  const auto job_on = [&](int ranks_log) {
    const int scale = weak ? weak_scale_of_rank + ranks_log : strong_scale;
    auto args = search_job{"erdos_renyi", d.tiny() ? 8 + ranks_log : scale, false}.to_arguments();
    args["kernel"] = kernel;
    return d.ranks(1 << ranks_log, args, settings);
  };
  for (int ranks_log = ranks_first_log + (weak ? 2 : 1); ranks_log <= last; ranks_log += weak ? 2 : 1) {
    // Flat: as long as on the first; falling: shorter than on half as many.
    const int against = weak ? ranks_first_log : ranks_log - 1;
    std::vector<asked> wanted;
    if (weak && ranks_log == ranks_last_log) wanted.push_back(ratio_at_most(1.3));
    if (!weak && ranks_log <= 8) wanted.push_back(ratio_at_most(1));
    job peer = job_on(against);
    peer.name = std::to_string(1 << against) + " ranks";
    d.compare({.ours = job_on(ranks_log), .peer = peer, .rounds = 1},
              {{std::string(kernel) + ", " + std::to_string(1 << ranks_log) + " ranks", "virtual time", "ms", "ms", "",
                "ms", wanted}});
  }
}

void drive_weak(driver& d) {
  drive(d, "bfs", true);
  drive(d, "sssp", true);
}
void drive_strong(driver& d) {
  drive(d, "bfs", false);
  drive(d, "sssp", false);
}

int measure(job_context& job) {
  const search_job wanted = search_job::from(job.args);
  const bool bfs = job.args.at("kernel") == "bfs";
  return run_ranks(job, [&](world& w) {
    return bfs ? measure_searches<breadth_first_search>(w, wanted, 3) : measure_searches<float32_search>(w, wanted, 3);
  });
}

}  // namespace

const benchmark weak_scaling{"weak_scaling", "simulated: searches of graphs that grow with the ranks", drive_weak,
                             measure};
const benchmark strong_scaling{"strong_scaling", "simulated: searches of one graph on more and more ranks",
                               drive_strong, measure};

}  // namespace amity::bench
