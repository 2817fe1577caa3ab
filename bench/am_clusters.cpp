/// Active messages of many simulated origins: Figures 7 and 8 of X. Zhao, P. Balaji, W. Gropp and R. Thakur,
/// "Optimization Strategies for MPI-Interoperable Active Messages".

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/am_networks.hpp"
#include "bench/am_variants.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Calls `work` on all ranks. Returns its virtual time, from the last rank's begin to the last rank's end.
template <class Work>
double epochs_us(world& w, Work work) {
  w.barrier();
  const std::uint64_t begin_ns = w.now_ns();
  work();
  const std::uint64_t end_ns = w.now_ns();
  return static_cast<double>(w.max(end_ns) - w.max(begin_ns)) * 1e-3;
}

/// Adds the requests of all ranks for space, for each of their epochs.
void add_requests(world& w, const am_counters& used, std::uint64_t epochs, sample& into) {
  const auto mean = [&](std::uint64_t count) {
    return static_cast<double>(w.sum(count)) / static_cast<double>(epochs);
  };
  into["handshakes"] = mean(used.handshakes);
  into["queries"] = mean(used.queries);
  into["refusals"] = mean(used.refusals);
  into["wait_us"] = mean(used.room_wait_ns) * 1e-3;
}

/// Virtual times are equal in all rounds.
void compare_once(driver& d, job ours, std::optional<job> base, const std::vector<figure>& rows) {
  d.compare({.ours = std::move(ours), .peer = std::move(base), .rounds = 1}, rows);
}

// Many origins, one lock

sample measure_scaling(world& w, const am_variant& variant, std::size_t segments) {
  constexpr rank_t target = 0;
  const bool is_origin = w.rank() != target;
  am_window<search_workload> window(w, variant, is_origin ? target : no_rank, !is_origin, {});
  am_data<search_workload> data(is_origin ? segments : 0);
  am_counters used;
  sample result;
  result["us"] = epochs_us(w, [&] {
    if (is_origin) {
      window.memory().lock(lock_kind::exclusive, target);
      window.send(target, data, 0, segments);
      window.memory().unlock(target);
      used = window.memory().counters_of(target);
    }
  });
  if (is_origin) data.check(segments);
  const auto origins = static_cast<std::uint64_t>(w.size() - 1);
  result["origin_us"] = result["us"] / static_cast<double>(origins);
  add_requests(w, used, origins, result);
  return result;
}

int run_scaling(job_context& job) {
  const am_variant variant = am_variant_named(job.args.at("variant"));
  const std::size_t segments = std::stoul(job.args.at("segments"));
  return run_ranks(job, [&](world& w) { return measure_scaling(w, variant, segments); });
}

void drive_scaling(driver& d) {
  constexpr std::size_t segments = 1024;
  const int last = d.tiny() ? 32 : 4096;
  for (int ranks = 16; ranks <= last; ranks *= d.tiny() ? 2 : 4) {
    const auto by = [&](const am_variant& variant) {
      std::optional<job> result =
          am_cluster(d, ranks, {{"variant", std::string(variant.name)}, {"segments", std::to_string(segments)}});
      if (result) result->name = variant.name;
      return result;
    };
    const std::optional<job> base = by(am_base);
    if (!base) return;
    for (const am_variant& each : am_variants) {
      if (each.is_hinted) continue;  // 4,095 guarantees of 32 MiB do not fit one target
      const std::string config =
          fmt::format("{}: {} ranks, search, {} segments: {}", am_simulated_name(), ranks, segments, each.name);
      std::vector<figure> rows{{config, "time per origin", "us", "origin_us", "", "origin_us"},
                               {config, "handshakes per origin", "", "handshakes"},
                               {config, "queries per origin", "", "queries"},
                               {config, "wait for space per origin", "us", "wait_us"}};
      if (each.detects_exclusive) {
        rows[2].wanted = {at_most(1)};
        // The paper's 20 %.
        if (ranks == 4096) rows[0].wanted = {ratio_at_most(0.8)};
      }
      compare_once(d, *by(each), base, rows);
    }
  }
}

// Four origins for each target

/// The sizes of the paper are divided by this.
constexpr std::uint64_t size_divisor = 64;
constexpr std::uint64_t bytes_of_origin = (std::uint64_t{20} << 20) / size_divisor;
constexpr std::size_t origins_of_target = 4;
constexpr std::size_t segments_of_message = 100;

/// The first rank of another four, half of the ranks away, which is on another node.
rank_t target_of(rank_t rank, rank_t ranks) {
  const rank_t first = rank / static_cast<rank_t>(origins_of_target) * static_cast<rank_t>(origins_of_target);
  return (first + ranks / 2) % ranks;
}

sample measure_contention(world& w, const am_variant& variant, std::uint64_t hint_bytes) {
  const rank_t target = target_of(w.rank(), w.size());
  const am_space_options space{.user_bytes = origins_of_target * bytes_of_origin, .hint_bytes = hint_bytes};
  am_window<search_workload> window(w, variant, target, w.rank() % static_cast<rank_t>(origins_of_target) == 0, space);
  constexpr std::size_t messages = bytes_of_origin / (segments_of_message * bytes_of_segment<search_workload>());
  am_data<search_workload> data(messages * segments_of_message);
  sample result;
  am_counters used;
  const auto epoch = [&] {
    data.clear();
    const am_counters before = window.memory().counters_of(target);
    const double us = epochs_us(w, [&] {
      window.memory().lock(lock_kind::shared, target);
      for (std::size_t i = 0; i < messages; ++i)
        window.send(target, data, i * segments_of_message, segments_of_message);
      window.memory().unlock(target);
    });
    data.check(messages * segments_of_message);
    used = since(before, window.memory().counters_of(target));
    return us;
  };
  epoch();  // credits adapt
  result["us"] = epoch();
  add_requests(w, used, static_cast<std::uint64_t>(w.size()), result);
  return result;
}

int run_contention(job_context& job) {
  const am_variant variant = am_variant_named(job.args.at("variant"));
  const std::uint64_t hint_bytes = std::stoull(job.args.at("hint_bytes"));
  return run_ranks(job, [&](world& w) { return measure_contention(w, variant, hint_bytes); });
}

void drive_contention(driver& d) {
  struct curve {
    std::string name;
    am_variant variant;
    std::uint64_t hint_mb;
  };
  const std::vector<curve> curves{{"no hint", am_base, 0},
                                  {"hint of 15 MB", am_hint, 15},
                                  {"hint of 20 MB", am_hint, 20},
                                  {"adaptive", am_adaptive, 0}};
  const std::vector<int> sizes = d.tiny() ? std::vector<int>{32} : std::vector<int>{64, 256, 1024};
  for (const int ranks : sizes) {
    const auto by = [&](const curve& of) {
      std::optional<job> result = am_cluster(d, ranks,
                                             {{"variant", std::string(of.variant.name)},
                                              {"hint_bytes", std::to_string((of.hint_mb << 20) / size_divisor)}});
      if (result) result->name = of.name;
      return result;
    };
    const auto compare = [&](const curve& of, const curve& with, std::vector<asked> wanted) {
      std::optional<job> peer = by(with);
      if (!peer) return;
      const std::string config =
          fmt::format("{}: {} ranks, 20 MB / {}, search: {}", am_simulated_name(), ranks, size_divisor, of.name);
      std::vector<figure> rows{{config, "epoch", "us", "us", "", "us", std::move(wanted)},
                               {config, "handshakes per origin", "", "handshakes"},
                               {config, "wait for space per origin", "us", "wait_us"}};
      if (of.hint_mb == 20) rows[1].wanted = {at_most(0)};
      compare_once(d, *by(of), std::move(peer), rows);
    };
    // The paper's 20 % and 50 %.
    compare(curves[0], curves[0], {});
    compare(curves[1], curves[0], {ratio_at_most(1 / 1.2)});
    compare(curves[2], curves[0], {ratio_at_most(1 / 1.5)});
    compare(curves[3], curves[1], {ratio_at_most(1)});
  }
}

}  // namespace

const benchmark am_scaling{"am_scaling", "simulated: 15 to 4,095 origins of active messages lock one target",
                           drive_scaling, run_scaling};
const benchmark am_contention{"am_contention", "simulated: four origins of active messages share each target",
                              drive_contention, run_contention};

}  // namespace amity::bench
