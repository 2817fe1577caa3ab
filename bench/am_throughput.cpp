/// Many active messages in one epoch: Figure 6 of X. Zhao, P. Balaji, W. Gropp and R. Thakur, "Optimization Strategies
/// for MPI-Interoperable Active Messages".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/am_networks.hpp"
#include "bench/am_variants.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"
#include "bench/window_jobs.hpp"

namespace amity::bench {
namespace {

constexpr rank_t origin = 0, target = 1;

/// The variants, and the run that is never short of space.
std::vector<am_variant> variants() {
  std::vector<am_variant> all(am_variants.begin(), am_variants.end());
  all.push_back(am_never_short);
  return all;
}

std::string key_of(std::string_view variant, std::size_t messages, std::string_view figure) {
  return fmt::format("{}_{}_{}", variant, messages, figure);
}

/// Epochs of rank 0 with many messages, by one variant.
template <class Workload>
struct stream {
  stream(world& w, const am_variant& of)
      : variant(of), window(w, of, w.rank() == origin ? target : no_rank, w.rank() == target, {}) {}

  /// Returns the time of an epoch.
  double epoch_ns(world& w, am_data<Workload>& data, std::size_t messages, std::size_t segments) {
    const am_counters before = window.memory().counters_of(target);
    const std::uint64_t begin_ns = w.now_ns();
    window.memory().lock(lock_kind::exclusive, target);
    for (std::size_t i = 0; i < messages; ++i) window.send(target, data, i * segments, segments);
    window.memory().unlock(target);
    const std::uint64_t end_ns = w.now_ns();
    used = since(before, window.memory().counters_of(target));
    return static_cast<double>(end_ns - begin_ns);
  }

  am_variant variant;
  am_window<Workload> window;
  am_counters used;  ///< of the last epoch
  std::vector<double> k_per_s;
};

template <class Workload>
sample measure_workload(world& w, const job_context& job) {
  const int batches = std::stoi(job.args.at("batches"));
  const std::size_t segments = std::stoul(job.args.at("segments"));
  const std::size_t messages_max = std::stoul(job.args.at("messages"));
  std::vector<std::unique_ptr<stream<Workload>>> all;
  for (const am_variant& each : variants()) all.push_back(std::make_unique<stream<Workload>>(w, each));
  sample result;
  w.barrier();
  if (w.rank() == origin) {
    am_data<Workload> data(messages_max * segments);
    for (std::size_t messages = 1; messages <= messages_max; messages *= 10) {
      for (int batch = -1; batch < batches; ++batch) {  // the first one is not counted
        for (const auto& each : all) {
          data.clear();
          const double ns = each->epoch_ns(w, data, messages, segments);
          data.check(messages * segments);
          if (batch >= 0) each->k_per_s.push_back(static_cast<double>(messages) / ns * 1e6);
        }
      }
      for (const auto& each : all) {
        const auto key = [&](std::string_view figure) { return key_of(each->variant.name, messages, figure); };
        result[key("k_per_s")] = summarise(each->k_per_s).median;
        result[key("requests")] = static_cast<double>(each->used.handshakes + each->used.queries);
        each->k_per_s.clear();
      }
      const auto rate = [&](const am_variant& of) { return result.at(key_of(of.name, messages, "k_per_s")); };
      for (const am_variant& each : variants()) {
        result[key_of(each.name, messages, "of_base")] = rate(each) / rate(am_base);
        result[key_of(each.name, messages, "of_never_short")] = rate(each) / rate(am_never_short);
      }
    }
  }
  w.barrier();
  return result;
}

int measure(job_context& job) {
  use_a_node_for_each_rank();
  return run_ranks(job, [&](world& w) {
    return job.args.at("workload") == "search" ? measure_workload<search_workload>(w, job)
                                               : measure_workload<absolute_workload>(w, job);
  });
}

/// The messages of a job.
struct plan {
  std::string_view workload;
  std::size_t segments;  ///< of a message
  std::size_t segments_of_system;
  std::size_t messages;  ///< at most
};

std::vector<figure> rows_of(const am_network& network, const plan& of) {
  std::vector<figure> rows;
  for (std::size_t messages = 1; messages <= of.messages; messages *= 10) {
    const std::string config =
        fmt::format("{}: {}, {} messages of {} segments", network.name, of.workload, messages, of.segments);
    const bool is_short = messages * of.segments > of.segments_of_system;
    for (const am_variant& each : variants()) {
      const auto key = [&](std::string_view figure) { return key_of(each.name, messages, figure); };
      const std::string named = fmt::format("{}: {}", config, each.name);
      rows.push_back({named, "messages", "k/s", key("k_per_s")});
      rows.push_back({named, "handshakes and queries", "", key("requests")});
      if (each.is_hinted || each.is_never_short) rows.back().wanted = {at_most(0)};
      if (!is_short || each.name == am_base.name) continue;
      rows.push_back({named, "rate / base", "", key("of_base")});
      if (each.is_hinted) rows.back().wanted = {at_least(1.3)};
      if (each.adapts && !each.detects_exclusive)
        rows.push_back({named, "rate / never short", "", key("of_never_short"), "", "", {at_least(0.95)}});
    }
  }
  return rows;
}

void drive(driver& d) {
  const std::size_t most = d.tiny() ? 1000 : 100'000;
  std::vector<plan> all{{search_workload::name, 1, search_workload::segments_of_system, most},
                        {absolute_workload::name, 1, absolute_workload::segments_of_system, most}};
  // Less than the system buffer, but two of them are more.
  if (!d.tiny()) all.push_back({search_workload::name, 150, search_workload::segments_of_system, most / 10});
  for (const plan& each : all) {
    const arguments args{{"workload", each.workload == search_workload::name ? "search" : "absolute"},
                         {"segments", std::to_string(each.segments)},
                         {"messages", std::to_string(each.messages)},
                         {"batches", d.tiny() ? "1" : "3"}};
    for (const am_network& network : am_networks(d, args))
      d.compare({.ours = network.ranks, .rounds = network.is_simulated ? 1 : 3}, rows_of(network, each));
  }
}

}  // namespace

const benchmark am_throughput{"am_throughput", "1 to 100,000 active messages in one epoch", drive, measure};

}  // namespace amity::bench
