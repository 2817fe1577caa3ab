/// Latency of active messages on windows, and the part of it in which origins wait for space at the target: Figure 5 of
/// X. Zhao, P. Balaji, W. Gropp and R. Thakur, "Optimization Strategies for MPI-Interoperable Active Messages".

#include <algorithm>
#include <cmath>
#include <functional>
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
constexpr std::size_t segments_max = 2048;

std::string key_of(std::string_view variant, std::size_t segments, std::string_view figure) {
  return fmt::format("{}_{}_{}", variant, segments, figure);
}

/// The messages of one epoch.
enum class epoch_kind : std::uint8_t { one_message, two_messages };

/// Epochs of rank 0 with messages of one size, by one variant.
template <class Workload>
class epochs {
 public:
  epochs(world& w, const am_variant& variant, const am_space_options& space)
      : w_(w),
        variant_(variant),
        window_(w, variant, w.rank() == origin ? target : no_rank, w.rank() == target, space),
        data_(segments_max) {}

  std::string_view name() const noexcept { return variant_.name; }

  /// Times `count` epochs.
  void time(std::size_t segments, int count, epoch_kind kind) {
    data_.clear();
    const am_counters before = window_.memory().counters_of(target);
    const std::uint64_t begin_ns = w_.now_ns();
    for (int i = 0; i < count; ++i) epoch(segments, kind);
    const std::uint64_t end_ns = w_.now_ns();
    const am_counters used = since(before, window_.memory().counters_of(target));
    data_.check(segments);
    us_.push_back(static_cast<double>(end_ns - begin_ns) * 1e-3 / count);
    wait_us_.push_back(static_cast<double>(used.room_wait_ns) * 1e-3 / count);
    handshakes_.push_back(static_cast<double>(used.handshakes) / count);
    queries_.push_back(static_cast<double>(used.queries) / count);
    refusals_.push_back(static_cast<double>(used.refusals) / count);
  }

  /// Moves the figures to the sample.
  void report(std::size_t segments, sample& into) {
    const auto move = [&](std::vector<double>& of, std::string_view figure) {
      into[key_of(name(), segments, figure)] = summarise(of).median;
      of.clear();
    };
    const summary all = summarise(us_);
    into[key_of(name(), segments, "low")] = all.low;
    into[key_of(name(), segments, "high")] = all.high;
    move(us_, "us");
    move(wait_us_, "wait_us");
    move(handshakes_, "handshakes");
    move(queries_, "queries");
    move(refusals_, "refusals");
  }

 private:
  void epoch(std::size_t segments, epoch_kind kind) {
    window<typename Workload::element>& memory = window_.memory();
    memory.lock(lock_kind::exclusive, target);
    window_.send(target, data_, 0, segments);
    if (kind == epoch_kind::two_messages) {
      memory.flush(target);
      window_.send(target, data_, 0, segments);
    }
    memory.unlock(target);
  }

  world& w_;
  am_variant variant_;
  am_window<Workload> window_;
  am_data<Workload> data_;
  std::vector<double> us_, wait_us_, handshakes_, queries_, refusals_;
};

/// The variants in turn, for each size. Rank 0 measures while rank 1 waits in a barrier.
template <class Workload>
sample measure_epochs(world& w, const std::vector<std::size_t>& sizes, const am_space_options& space, int batches,
                      epoch_kind kind) {
  std::vector<std::unique_ptr<epochs<Workload>>> all;
  for (const am_variant& each : am_variants) all.push_back(std::make_unique<epochs<Workload>>(w, each, space));
  sample result;
  w.barrier();
  if (w.rank() == origin) {
    for (const std::size_t segments : sizes) {
      // Descriptions of messages are known then, and credits have adapted.
      for (const auto& each : all) {
        sample ignored;
        each->time(segments, 3, kind);
        each->report(segments, ignored);
      }
      const int count = std::clamp(static_cast<int>(segments_max / segments), 1, 20);
      for (int batch = 0; batch < batches; ++batch)
        for (const auto& each : all) each->time(segments, count, kind);
      for (const auto& each : all) each->report(segments, result);
    }
  }
  w.barrier();
  return result;
}

/// Adds the time of a message of one segment and its flush.
template <class Workload>
void measure_round_trip(world& w, sample& into, int batches) {
  am_window<Workload> window(w, am_base, no_rank, false, {});
  am_data<Workload> data(1);
  if (w.rank() == origin) {
    window.memory().lock(lock_kind::exclusive, target);
    const auto round_trip = [&] {
      const std::uint64_t begin_ns = w.now_ns();
      window.send(target, data, 0, 1);
      window.memory().flush(target);
      return static_cast<double>(w.now_ns() - begin_ns) * 1e-3;
    };
    round_trip();
    into["round_trip_us"] = median_of(10 * batches, round_trip);
    window.memory().unlock(target);
    data.check(1);
  }
  w.barrier();
}

/// Adds how the figures of variants compare.
void add_comparisons(sample& of, const std::vector<std::size_t>& sizes) {
  const auto value = [&](std::string_view variant, std::size_t segments, std::string_view figure) {
    return of.at(key_of(variant, segments, figure));
  };
  for (const std::size_t segments : sizes) {
    const auto us = [&](const am_variant& of_variant) { return value(of_variant.name, segments, "us"); };
    const auto [least, most] = std::ranges::minmax(am_variants, {}, us);
    of[key_of("all", segments, "spread")] = us(most) / us(least);
    double gap = 0;
    for (const am_variant& each : am_variants) {
      gap = std::max({gap, value("base", segments, "low") - value(each.name, segments, "high"),
                      value(each.name, segments, "low") - value("base", segments, "high")});
    }
    of[key_of("all", segments, "gap_percent")] = 100 * gap / us(am_base);
    for (const am_variant& each : am_variants) of[key_of(each.name, segments, "of_base")] = us(each) / us(am_base);
    of[key_of("adaptive", segments, "of_hint")] = us(am_adaptive) / us(am_hint);
    of[key_of("exclusive", segments, "round_trips")] = value("exclusive", segments, "wait_us") / of.at("round_trip_us");
  }
}

std::vector<std::size_t> sizes_of(const job_context& job) {
  std::vector<std::size_t> sizes;
  std::string_view rest = job.args.at("segments");
  while (!rest.empty()) {
    sizes.push_back(std::stoul(std::string(rest)));
    rest.remove_prefix(std::min(rest.find(',') == rest.npos ? rest.size() : rest.find(',') + 1, rest.size()));
  }
  return sizes;
}

template <class Workload>
sample measure_workload(world& w, const job_context& job) {
  const int batches = std::stoi(job.args.at("batches"));
  const std::vector<std::size_t> sizes = sizes_of(job);
  am_space_options space{.user_bytes = std::stoul(job.args.at("user_bytes"))};
  if (job.args.at("unit") == "segment") space.unit_bytes = bytes_of_segment<Workload>();
  sample result;
  measure_round_trip<Workload>(w, result, batches);
  if (job.args.at("flush") == "no") {
    result.merge(measure_epochs<Workload>(w, sizes, space, batches, epoch_kind::one_message));
    if (w.rank() == origin) add_comparisons(result, sizes);
    return result;
  }
  for (const bool may_detach : {true, false}) {
    space.may_detach = may_detach;
    for (const auto& [key, value] : measure_epochs<Workload>(w, sizes, space, batches, epoch_kind::two_messages))
      result[fmt::format("{}{}", may_detach ? "" : "promised_", key)] = value;
  }
  if (w.rank() != origin) return result;
  for (const std::size_t segments : sizes) {
    for (const am_variant& each : am_variants) {
      const std::string key = key_of(each.name, segments, "us");
      result[key + "_ratio"] = result.at("promised_" + key) / result.at(key);
    }
  }
  return result;
}

int measure(job_context& job) {
  use_a_node_for_each_rank();
  return run_ranks(job, [&](world& w) {
    return job.args.at("workload") == "search" ? measure_workload<search_workload>(w, job)
                                               : measure_workload<absolute_workload>(w, job);
  });
}

/// What the jobs of a benchmark differ in.
struct plan {
  std::string_view workload;
  std::size_t segments_of_system;
  std::size_t segment_bytes;
  std::vector<std::size_t> sizes;
  std::uint64_t user_bytes = std::uint64_t{32} << 20;
  bool in_single_segments = false;

  bool fits(std::size_t segments) const noexcept { return segments <= segments_of_system; }
  bool fits_hint(std::size_t segments) const noexcept { return segments * segment_bytes <= user_bytes; }
  std::string title() const {
    const std::string buffer =
        user_bytes < (1 << 20) ? fmt::format("{} KiB", user_bytes >> 10) : fmt::format("{} MiB", user_bytes >> 20);
    return fmt::format("{}, {} of buffer{}", workload, buffer, in_single_segments ? ", units of a segment" : "");
  }
};

std::vector<plan> plans(bool tiny) {
  const std::vector<std::size_t> searches =
      tiny ? std::vector<std::size_t>{1, 512} : std::vector<std::size_t>{1, 64, 204, 256, 512, 1024, segments_max};
  const std::vector<std::size_t> values =
      tiny ? std::vector<std::size_t>{1, 32} : std::vector<std::size_t>{1, 10, 16, 64, 256, 1024, segments_max};
  std::vector<plan> all;
  for (const bool is_search : {true, false}) {
    const plan one{
        .workload = is_search ? search_workload::name : absolute_workload::name,
        .segments_of_system = is_search ? search_workload::segments_of_system : absolute_workload::segments_of_system,
        .segment_bytes = is_search ? bytes_of_segment<search_workload>() : bytes_of_segment<absolute_workload>(),
        .sizes = is_search ? searches : values};
    all.push_back(one);
    if (tiny) continue;
    all.push_back(one);
    all.back().user_bytes = 8192;
    all.push_back(one);
    all.back().sizes = {segments_max};
    all.back().in_single_segments = true;
  }
  return all;
}

arguments arguments_of(const driver& d, const plan& of, bool is_flush) {
  std::vector<std::string> sizes;
  for (const std::size_t each : of.sizes) sizes.push_back(std::to_string(each));
  return {{"workload", of.workload == search_workload::name ? "search" : "absolute"},
          {"segments", fmt::format("{}", fmt::join(sizes, ","))},
          {"user_bytes", std::to_string(of.user_bytes)},
          {"unit", of.in_single_segments ? "segment" : "default"},
          {"flush", is_flush ? "yes" : "no"},
          {"batches", d.tiny() ? "2" : "15"}};
}

/// Calls `rows(network, plan)` for each job of the benchmark, and adds them.
template <class Rows>
void drive_plans(driver& d, const std::vector<plan>& all, bool is_flush, Rows rows) {
  for (const plan& each : all) {
    for (const am_network& network : am_networks(d, arguments_of(d, each, is_flush))) {
      const std::vector<figure> made = rows(network, each);
      d.compare({.ours = network.ranks, .rounds = network.is_simulated ? 1 : 3}, made);
    }
  }
}

std::vector<figure> latency_rows(const am_network& network, const plan& of) {
  std::vector<figure> rows;
  for (const std::size_t segments : of.sizes) {
    const std::string config = fmt::format("{}: {}, {} segments", network.name, of.title(), segments);
    for (const am_variant& each : am_variants)
      rows.push_back({fmt::format("{}: {}", config, each.name), "epoch", "us", key_of(each.name, segments, "us")});
    if (of.fits(segments) && network.is_simulated) {
      rows.push_back({config, "most / least", "", key_of("all", segments, "spread"), "", "", {at_most(1)}});
    } else if (of.fits(segments)) {
      rows.push_back(
          {config, "gap between quartiles", "%", key_of("all", segments, "gap_percent"), "", "", {at_most(0)}});
    } else {
      rows.push_back({config, "exclusive / base", "", key_of("exclusive", segments, "of_base")});
      rows.push_back({config, "hint / base", "", key_of("hint", segments, "of_base")});
      if (segments == segments_max && of.in_single_segments) rows.back().wanted = {at_most(0.8)};
      rows.push_back({config, "adaptive / hint", "", key_of("adaptive", segments, "of_hint")});
      if (segments == segments_max && of.fits_hint(segments)) rows.back().wanted = {at_most(1.05)};
    }
  }
  return rows;
}

void drive_latency(driver& d) { drive_plans(d, plans(d.tiny()), false, latency_rows); }

std::vector<figure> synchronization_rows(const am_network& network, const plan& of) {
  std::vector<figure> rows{{fmt::format("{}: {}", network.name, of.title()), "round trip", "us", "round_trip_us"}};
  for (const std::size_t segments : of.sizes) {
    const std::string config = fmt::format("{}: {}, {} segments", network.name, of.title(), segments);
    for (const am_variant& each : am_variants) {
      const std::string named = fmt::format("{}: {}", config, each.name);
      const bool is_none = of.fits(segments) || (each.is_hinted && of.fits_hint(segments));
      const std::vector<asked> wanted = is_none ? std::vector<asked>{at_most(0)} : std::vector<asked>{};
      rows.push_back({named, "wait for space", "us", key_of(each.name, segments, "wait_us"), "", "", wanted});
      rows.push_back({named, "handshakes", "", key_of(each.name, segments, "handshakes"), "", "", wanted});
      rows.push_back({named, "queries", "", key_of(each.name, segments, "queries"), "", "", wanted});
      if (each.detects_exclusive && !is_none) rows.back().wanted = {at_most(1)};
    }
    if (of.fits(segments) || of.user_bytes <= am_system_bytes) continue;  // such a buffer is short for all of them
    rows.push_back({config,
                    "exclusive: wait / round trip",
                    "",
                    key_of("exclusive", segments, "round_trips"),
                    "",
                    "",
                    {at_most(1)}});
  }
  return rows;
}

void drive_synchronization(driver& d) { drive_plans(d, plans(d.tiny()), false, synchronization_rows); }

std::vector<figure> flush_rows(const am_network& network, const plan& of) {
  std::vector<figure> rows;
  for (const std::size_t segments : of.sizes) {
    const std::string config = fmt::format("{}: {}, 2 x {} segments", network.name, of.title(), segments);
    for (const am_variant& each : am_variants) {
      for (const bool is_promised : {false, true}) {
        const std::string named = fmt::format("{}: {}{}", config, each.name, is_promised ? ", no detach" : "");
        const auto key = [&](std::string_view figure) {
          return (is_promised ? "promised_" : "") + key_of(each.name, segments, figure);
        };
        rows.push_back({named, "epoch", "us", key("us")});
        rows.push_back({named, "wait for space", "us", key("wait_us")});
        rows.push_back({named, "handshakes", "", key("handshakes")});
        if (each.adapts) rows.back().wanted = {at_most(each.detects_exclusive ? 0 : 1)};
        rows.push_back({named, "queries", "", key("queries")});
        if (each.detects_exclusive && (is_promised || each.adapts)) rows.back().wanted = {at_most(1)};
      }
      rows.push_back({fmt::format("{}: {}", config, each.name), "no detach / may detach", "",
                      key_of(each.name, segments, "us_ratio")});
    }
  }
  return rows;
}

void drive_flush(driver& d) {
  std::vector<plan> all = plans(true);
  if (!d.tiny()) all[0].sizes = {256, 1024}, all[1].sizes = {16, 128};
  drive_plans(d, all, true, flush_rows);
}

}  // namespace

const benchmark am_latency{"am_latency", "an epoch with one active message on a window", drive_latency, measure};
const benchmark am_sync_time{"am_sync_time", "time in which one active message waits for space at its target",
                             drive_synchronization, measure};
const benchmark am_flush{"am_flush", "an epoch with two active messages and a flush between them", drive_flush,
                         measure};

}  // namespace amity::bench
