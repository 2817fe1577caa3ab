/// Memory for packets that are being filled, and virtual time of an epoch, where many ranks send a little to all
/// others: directly, over a grid, over a hypercube, and over nodes.
///
/// The work: every sixteenth of the simulated ranks sends one 8-byte message to every rank. A rank's memory is what its
/// packets really took from the fabric, at the moment when they took most; the row shows the rank that needed most.

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

constexpr rank_t sender_stride = 16;

template <class Topology>
sample measure_rank(world& w, const Topology& topology) {
  std::uint64_t sum = 0;
  auto add = w.message<std::uint64_t>([&](std::uint64_t source) { sum += source; }, route{topology}, coalesce{});
  w.barrier();
  const auto begin_ns = w.now_ns();
  w.epoch([&] {
    if (w.rank() % sender_stride != 0) return;
    for (rank_t i = 0; i < w.size(); ++i) add.send((w.rank() + i) % w.size(), static_cast<std::uint64_t>(w.rank()));
  });
  const auto took_ns = w.max(w.now_ns() - begin_ns);
  const auto senders = static_cast<std::uint64_t>((w.size() + sender_stride - 1) / sender_stride);
  expect_equal("sum of the sources", sum, sender_stride * senders * (senders - 1) / 2);
  const message_counters seen = add.counters();
  const auto hops = w.sum(seen.sent + seen.forwarded);
  return {{"buffers_kib", static_cast<double>(w.max(seen.buffer_bytes_peak)) / 1024},
          {"epoch_us", static_cast<double>(took_ns) * 1e-3},
          {"hops", static_cast<double>(hops) / static_cast<double>(w.sum(seen.sent))}};
}

sample measure_ranks(world& w, const std::string& name) {
  if (name == "grid") return measure_rank(w, grid{});
  if (name == "hypercube") return measure_rank(w, hypercube{});
  if (name == "node_aware") return measure_rank(w, node_aware{});
  return measure_rank(w, direct{});
}

/// On nodes of `node_ranks` ranks.
void compare_with_direct(driver& d, int ranks, int node_ranks, const std::string& topology,
                         std::vector<asked> wanted = {}) {
  const auto over = [&](const std::string& name) {
    job result =
        d.ranks(ranks, {{"topology", name}}, {"AMITY_FABRIC=sim", fmt::format("AMITY_SIM_NODE_RANKS={}", node_ranks)});
    result.name = name;
    return result;
  };
  contest jobs{over(topology)};
  jobs.peer = over("direct");
  jobs.rounds = 1;  // simulated: the next one would be the same
  const auto config = fmt::format("{} sim ranks, {}", ranks, topology);
  d.compare(jobs, {{config, "packets, memory a rank", "KiB", "buffers_kib", "", "buffers_kib", std::move(wanted)},
                   {config, "virtual time of the epoch", "us", "epoch_us", "", "epoch_us"},
                   {config, "hops a message", "hops", "hops", "", "hops"}});
}

void drive(driver& d) {
  if (d.tiny()) return compare_with_direct(d, 64, 1, "grid", {ratio_at_most(0.25)});
  compare_with_direct(d, 1024, 1, "grid");
  compare_with_direct(d, 1024, 1, "hypercube");
  compare_with_direct(d, 4096, 1, "grid", {ratio_at_most(1.0 / 16)});
  compare_with_direct(d, 4096, 1, "hypercube");
  compare_with_direct(d, 4096, 64, "node_aware");
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job.args.find("topology")->second); });
}

}  // namespace

const benchmark small_scale_memory{"small_scale_memory",
                                   "memory for packets and virtual time, direct and routed, 4,096 simulated ranks",
                                   drive, measure};

}  // namespace amity::bench
