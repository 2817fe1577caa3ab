/// Latency and bandwidth of puts and gets under post, start, complete and wait, by protocol: Figures 3 and 4 of
/// Barrett, Shipman and Lumsdaine, "Analysis of Implementation Options for MPI-2 One-Sided" (EuroPVM/MPI 2007). The
/// loops are those of the OSU benchmarks of one-sided windows.

#include "amity/window/window.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"
#include "bench/window_jobs.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bytes_max = std::size_t{4} << 20;
/// Operations of one epoch of the bandwidth test, as far as their bytes permit.
constexpr std::size_t operations_max = 32;
constexpr std::size_t epoch_bytes_max = std::size_t{32} << 20;

/// The claims of the paper about short and large operations are checked up to and from these sizes.
constexpr std::size_t short_bytes_max = 512;
constexpr std::size_t large_bytes_min = std::size_t{1} << 18;

std::vector<std::size_t> sizes(bool tiny) {
  if (tiny) return {1, 512, large_bytes_min};
  return {1, 8, 64, 512, 4096, 32768, large_bytes_min, bytes_max};
}

/// The sizes of the rows with MPI.
std::vector<std::size_t> compared_sizes(bool tiny) {
  if (tiny) return {8, large_bytes_min};
  return {8, 4096, large_bytes_min, bytes_max};
}

std::size_t operations_of(std::size_t bytes) {
  return std::clamp(epoch_bytes_max / bytes, std::size_t{1}, operations_max);
}

/// Returns the epochs of a batch: `count` for short operations, and fewer for long ones, so that all take some time.
int epochs_of(std::size_t bytes, std::size_t count) {
  constexpr std::size_t epoch_bytes = 20'000;
  return static_cast<int>(std::max(count * epoch_bytes / (bytes + epoch_bytes), std::size_t{1}));
}

enum class direction { put, get };

template <direction Direction>
const benchmark& benchmark_of() {
  return Direction == direction::put ? window_pscw_put : window_pscw_get;
}

/// Two ranks with a window each, and a buffer for what they put or get.
template <direction Direction>
class transfer {
 public:
  transfer(world& w, window_protocol protocol, std::size_t bytes)
      : w_(w),
        other_(1 - w.rank()),
        bytes_(bytes),
        operations_(operations_of(bytes)),
        buffer_(bytes * operations_),
        memory_(w.allocate_window<std::byte>(bytes * operations_, {.name = "transfers", .protocol = protocol})) {
    const std::span<std::byte> source = Direction == direction::put ? std::span(buffer_) : memory_.local();
    std::memset(source.data(), fill(w.rank()), source.size());
  }

  /// Returns the time of one epoch with one operation, in microseconds. The ranks are origins in turn.
  double latency_us(int round_trips) {
    clear(1);
    w_.barrier();
    const std::uint64_t begin_ns = w_.now_ns();
    for (int i = 0; i < round_trips; ++i) {
      if (w_.rank() == 0) {
        access(1);
        expose();
      } else {
        expose();
        access(1);
      }
    }
    const auto ns = static_cast<double>(w_.now_ns() - begin_ns);
    check(1, true);
    return ns * 1e-3 / (2.0 * round_trips);
  }

  /// Returns the bandwidth of epochs with several operations until the last `wait` has returned, in megabytes (10^6)
  /// per second. Rank 0 is the origin.
  double bandwidth_mbps(int epochs) {
    clear(operations_);
    w_.barrier();
    const std::uint64_t begin_ns = w_.now_ns();
    for (int i = 0; i < epochs; ++i) w_.rank() == 0 ? access(operations_) : expose();
    const auto ns = static_cast<double>(w_.max(w_.now_ns()) - begin_ns);  // ranks of one machine share the clock
    check(operations_, false);
    return static_cast<double>(bytes_ * operations_) * epochs / ns * 1e3;
  }

 private:
  static constexpr int fill(rank_t rank) { return 1 + rank; }

  /// Where operations bring their data.
  std::span<std::byte> destination() { return Direction == direction::put ? memory_.local() : std::span(buffer_); }
  /// So that `check` sees what follows.
  void clear(std::size_t operations) { std::ranges::fill(destination().first(operations * bytes_), std::byte{0}); }

  void access(std::size_t operations) {
    memory_.start(std::span(&other_, 1));
    for (std::size_t i = 0; i < operations; ++i) {
      const auto part = std::span(buffer_).subspan(i * bytes_, bytes_);
      if constexpr (Direction == direction::put) {
        memory_.put(other_, i * bytes_, std::span<const std::byte>(part));
      } else {
        memory_.get(other_, i * bytes_, part);
      }
    }
    memory_.complete();
  }
  void expose() {
    memory_.post(std::span(&other_, 1));
    memory_.wait();
  }

  /// What `operations` of one epoch have brought; only rank 0 was an origin unless `both`.
  void check(std::size_t operations, bool both) {
    w_.barrier();
    constexpr rank_t receiver = Direction == direction::put ? 1 : 0;
    if (!both && w_.rank() != receiver) return;
    const auto right = std::ranges::count(destination().first(operations * bytes_), std::byte(fill(other_)));
    expect_equal("bytes transferred", static_cast<std::uint64_t>(right), operations * bytes_);
  }

  world& w_;
  rank_t other_;
  std::size_t bytes_;
  std::size_t operations_;
  std::vector<std::byte> buffer_;
  window<std::byte> memory_;
};

std::string key_of(std::string_view protocol, std::string_view metric, std::size_t bytes) {
  return fmt::format("{}_{}_{}", protocol, metric, bytes);
}

/// The measurements of one protocol that repetitions of one size yield.
struct transfer_times {
  std::vector<double> latency_us, bandwidth_mbps;
};

/// Measures the protocols in turn.
template <direction Direction>
sample measure_size(world& w, std::span<const named_protocol> protocols, std::size_t bytes, int batches,
                    int repetitions) {
  std::vector<std::unique_ptr<transfer<Direction>>> all;
  for (const auto& [name, protocol] : protocols)
    all.push_back(std::make_unique<transfer<Direction>>(w, protocol, bytes));
  for (const auto& each : all) each->latency_us(1);
  std::vector<transfer_times> times(all.size());
  for (int batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      times[i].latency_us.push_back(all[i]->latency_us(repetitions));
      times[i].bandwidth_mbps.push_back(all[i]->bandwidth_mbps(repetitions));
    }
  }
  sample result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view name = protocols[i].name;
    result[key_of(name, "us", bytes)] = summarise(times[i].latency_us).median;
    result[key_of(name, "mbps", bytes)] = summarise(times[i].bandwidth_mbps).median;
  }
  return result;
}

/// Adds each protocol's figure as a multiple of the best one of the three that can be forced.
void add_ratios(sample& of, std::size_t bytes) {
  const auto all = named_protocols();
  const auto forced = std::span(all).first(3);
  const auto value = [&](const named_protocol& each, std::string_view metric) {
    return of.at(key_of(each.name, metric, bytes));
  };
  const auto latency = [&](const named_protocol& each) { return value(each, "us"); };
  const auto bandwidth = [&](const named_protocol& each) { return value(each, "mbps"); };
  const double least_us = std::ranges::min(forced | std::views::transform(latency));
  const double most_mbps = std::ranges::max(forced | std::views::transform(bandwidth));
  const double least_mbps = std::ranges::min(forced | std::views::transform(bandwidth));
  for (const named_protocol& each : named_protocols()) {
    of[key_of(each.name, "latency_of_best", bytes)] = latency(each) / least_us;
    of[key_of(each.name, "bandwidth_of_best", bytes)] = bandwidth(each) / most_mbps;
  }
  of[key_of("slowest", "bandwidth_of_best", bytes)] = least_mbps / most_mbps;
  of[key_of("buffered", "of_send_recv", bytes)] = bandwidth(named_protocols()[1]) / bandwidth(named_protocols()[0]);
}

/// The job for the rows with MPI has only the choice that windows make themselves.
bool is_compared(const job_context& job) { return job.args.contains("compared"); }

template <direction Direction>
int measure(job_context& job) {
  const int batches = std::stoi(job.args.at("batches"));
  const std::size_t count = std::stoul(job.args.at("count"));
  if (batches > 1) use_a_node_for_each_rank();
  const auto all = named_protocols();
  const auto protocols = is_compared(job) ? std::span(all).last(1) : std::span(all);
  return run_ranks(job, [&](world& w) {
    sample result;
    for (const std::size_t bytes : is_compared(job) ? compared_sizes(job.tiny) : sizes(job.tiny)) {
      const int epochs = batches > 1 ? epochs_of(bytes, count) : static_cast<int>(count);
      result.merge(measure_size<Direction>(w, protocols, bytes, batches, epochs));
      if (!is_compared(job)) add_ratios(result, bytes);
    }
    return result;
  });
}

/// The rows of what was measured, without checks.
std::vector<figure> measured_rows(const driver& d, const std::string& network) {
  std::vector<figure> rows;
  for (const std::size_t bytes : sizes(d.tiny())) {
    for (const auto& [name, protocol] : named_protocols())
      rows.push_back({fmt::format("{}: {} B, {}", network, bytes, name), "latency", "us", key_of(name, "us", bytes)});
  }
  for (const std::size_t bytes : sizes(d.tiny())) {
    for (const auto& [name, protocol] : named_protocols()) {
      rows.push_back(
          {fmt::format("{}: {} B, {}", network, bytes, name), "bandwidth", "MB/s", key_of(name, "mbps", bytes)});
    }
  }
  return rows;
}

figure ratio_row(const std::string& network, std::size_t bytes, const std::string& what, const std::string& metric,
                 const std::string& key, asked wanted) {
  return {fmt::format("{}: {} B, {}", network, bytes, what), metric, "", key, "", "", {wanted}};
}

/// For large operations all protocols have the same bandwidth.
figure large_row(const std::string& network, std::size_t bytes) {
  return ratio_row(network, bytes, "slowest / fastest", "bandwidth", key_of("slowest", "bandwidth_of_best", bytes),
                   at_least(0.9));
}

std::vector<figure> put_claims(const std::string& network, std::size_t bytes) {
  if (bytes >= large_bytes_min) return {large_row(network, bytes)};
  if (bytes > short_bytes_max) return {};
  return {
      ratio_row(network, bytes, "buffered / best", "latency", key_of("buffered", "latency_of_best", bytes), at_most(1)),
      ratio_row(network, bytes, "buffered / best", "bandwidth", key_of("buffered", "bandwidth_of_best", bytes),
                at_least(1))};
}

std::vector<figure> get_claims(const std::string& network, std::size_t bytes) {
  std::vector<figure> rows{
      ratio_row(network, bytes, "rma / best", "latency", key_of("rma", "latency_of_best", bytes), at_most(1))};
  if (bytes >= large_bytes_min) rows.push_back(large_row(network, bytes));
  if (bytes > short_bytes_max) return rows;
  // In the paper, the buffered protocol did not coalesce replies, and short RMA gets searched a cache of registrations.
  rows.push_back(ratio_row(network, bytes, "buffered / send_recv", "bandwidth",
                           key_of("buffered", "of_send_recv", bytes), at_least(1.01)));
  rows.push_back(
      ratio_row(network, bytes, "rma / best", "bandwidth", key_of("rma", "bandwidth_of_best", bytes), at_least(0.9)));
  return rows;
}

template <direction Direction>
void drive_simulated(driver& d) {
  const arguments args{{"batches", "1"}, {"count", d.tiny() ? "2" : "4"}};
  const std::optional<job> simulated = on_network(d, "sdr", 2, args);
  if (!simulated) return;
  std::vector<figure> rows = measured_rows(d, "sdr");
  for (const std::size_t bytes : sizes(d.tiny())) {
    const auto claims = Direction == direction::put ? put_claims("sdr", bytes) : get_claims("sdr", bytes);
    rows.insert(rows.end(), claims.begin(), claims.end());
  }
  d.compare({.ours = *simulated, .rounds = 1}, rows);
}

std::vector<figure> compared_rows(const driver& d, const std::string& ours, const mpi_installation& mpi) {
  std::vector<figure> rows;
  const auto add = [&](const std::string& metric, const std::string& unit, std::string_view key) {
    for (const std::size_t bytes : compared_sizes(d.tiny())) {
      rows.push_back({fmt::format("{}: {} B, automatic, against windows of {}", ours, bytes, mpi.name), metric, unit,
                      key_of("automatic", key, bytes), "", fmt::format("{}_{}", key, bytes)});
    }
  };
  add("latency", "us", "us");
  add("bandwidth", "MB/s", "mbps");
  return rows;
}

/// Compares the fabric over TCP, and the fabric over the MPI, with the windows of the MPI; each MPI uses TCP.
template <direction Direction>
void compare_with_mpi(driver& d, const mpi_installation& mpi, const arguments& args) {
  arguments ours = args;
  ours.emplace("compared", "true");
  std::vector<std::string> words{Direction == direction::put ? "transfer_put" : "transfer_get", args.at("batches"),
                                 args.at("count")};
  for (const std::size_t bytes : compared_sizes(d.tiny())) words.push_back(std::to_string(bytes));
  contest jobs{.ours = over_tcp(d, "tcp;ofi_rxm", 2, ours), .rounds = 3};
  jobs.peer = mpi_over_tcp(d, mpi, 2, words);
  d.compare(jobs, compared_rows(d, "tcp;ofi_rxm", mpi));
  jobs.ours = ranks_over_mpi(d, mpi, benchmark_of<Direction>(), 2, ours);
  d.compare(jobs, compared_rows(d, fmt::format("over {}", mpi.name), mpi));
}

template <direction Direction>
void drive(driver& d) {
  drive_simulated<Direction>(d);
  const arguments args{{"batches", d.tiny() ? "2" : "5"}, {"count", d.tiny() ? "2" : "100"}};
  d.compare({.ours = over_tcp(d, "tcp;ofi_rxm", 2, args), .rounds = 3}, measured_rows(d, "tcp;ofi_rxm"));
  for (const mpi_installation& mpi : mpis_over_tcp(2)) compare_with_mpi<Direction>(d, mpi, args);
}

}  // namespace

const benchmark window_pscw_put{"window_pscw_put", "puts of 1 B to 4 MiB under post and start, by protocol",
                                drive<direction::put>, measure<direction::put>};
const benchmark window_pscw_get{"window_pscw_get", "gets of 1 B to 4 MiB under post and start, by protocol",
                                drive<direction::get>, measure<direction::get>};

}  // namespace amity::bench
