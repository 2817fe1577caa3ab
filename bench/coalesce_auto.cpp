/// Packets of each size from 64 bytes to 64 KiB, and of the size that `coalesce::automatic` finds, on a histogram
/// (table_traffic.hpp) and on a breadth-first search (search_levels.hpp).

#include <algorithm>

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/search_levels.hpp"
#include "bench/table_traffic.hpp"

namespace amity::bench {
namespace {

void compare_sizes(driver& d, const std::string& workload, arguments args) {
  const auto job_with = [&](const std::string& packets) {
    args["packets"] = packets;
    return d.ranks(2, args, {"AMITY_SHM_PACKET_BYTES=64k"});
  };
  const std::string rate = "rate" + std::string(workload == "search" ? "" : " a rank");
  std::string best;
  double best_rate = 0;
  for (std::size_t bytes = 64; bytes <= std::size_t{64} << 10; bytes *= 4) {
    contest jobs{job_with(std::to_string(bytes))};
    jobs.rounds = 3;
    d.compare(jobs, {{fmt::format("{}, packets of {} B", workload, bytes), rate, "M/s", "m_per_s"}});
    if (const double found = d.rows().back().value.median; found > best_rate) {
      best_rate = found;
      best = std::to_string(bytes);
    }
  }
  contest jobs{job_with("automatic")};
  jobs.peer = job_with(best);
  jobs.peer->name = fmt::format("packets of {} B", best);
  d.compare(jobs, {{workload + ", automatic", rate, "M/s", "m_per_s", "", "m_per_s", {ratio_at_least(0.9)}},
                   {workload + ", automatic", "size found", "B", "packet_bytes"}});
}

void drive(driver& d) {
  const traffic_plan histogram{2, traffic_plan::large_table, d.tiny() ? 20'000u : 4'000'000u, d.tiny() ? 1u : 9u,
                               false};
  compare_sizes(d, "histogram", histogram.to_arguments());
  const search_plan search{d.tiny() ? 1u << 10 : 1u << 17, 16, d.tiny() ? 1u : 6u, d.tiny() ? 1u : 9u};
  compare_sizes(d, "search", search.to_arguments());
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) {
    const coalesce packets = packets_of(job.args);
    if (job.args.contains("vertices")) return measure_searches(w, search_plan::from(job.args), packets);
    return measure_traffic(w, traffic_plan::from(job.args), packets);
  });
}

}  // namespace

const benchmark coalesce_auto{"coalesce_auto", "sizes of packets, and the one that coalesce::automatic finds", drive,
                              measure};

}  // namespace amity::bench
