/// Windows on simulated networks and on TCP: synchronization of many ranks, puts compared with each MPI, and transfers
/// while the origin or the target computes.

#include "amity/window/window.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"
#include "bench/window_jobs.hpp"

namespace amity::bench {
namespace {

// Scaling

constexpr int epochs_timed = 16;

/// Returns the mean virtual time of `epoch` in microseconds, from the last rank's begin to the last rank's end: ranks
/// do not leave the barrier together, and all have one clock. The first epoch is not timed.
template <class Epoch>
double epoch_us(world& w, Epoch&& epoch) {
  epoch();
  w.barrier();
  const std::uint64_t begin_ns = w.now_ns();
  for (int i = 0; i < epochs_timed; ++i) epoch();
  const std::uint64_t end_ns = w.now_ns();
  return static_cast<double>(w.max(end_ns) - w.max(begin_ns)) * 1e-3 / epochs_timed;
}

sample measure_scaling(world& w) {
  const rank_t left = (w.rank() + w.size() - 1) % w.size(), right = (w.rank() + 1) % w.size();
  const std::array neighbors{left, right};
  auto memory = w.allocate_window<std::uint64_t>(1);
  sample result;
  memory.fence(window_assert::no_precede);
  result["fence_us"] = epoch_us(w, [&] { memory.fence(); });
  memory.fence(window_assert::no_succeed);
  result["pscw_us"] = epoch_us(w, [&] {
    memory.post(neighbors);
    memory.start(neighbors);
    memory.complete();
    memory.wait();
  });
  w.barrier();
  std::uint64_t value = 0;
  result["lock_us"] = epoch_us(w, [&] {
    memory.lock_all();
    memory.put(right, 0, ++value);
    memory.flush_all();
    memory.unlock_all();
  });
  w.barrier();
  expect_equal("last value of the neighbor", memory.local()[0], value);
  return result;
}

void drive_scaling(driver& d) {
  const int first = d.tiny() ? 4 : 16, last = d.tiny() ? 16 : 1024;
  const auto on_ranks = [&](int ranks) {
    std::optional<job> result = on_network(d, "sdr", ranks, {});
    if (result) result->name = fmt::format("{} ranks", ranks);
    return result;
  };
  const std::optional<job> fewest = on_ranks(first);
  if (!fewest) return;
  for (int ranks = first; ranks <= last; ranks *= 4) {
    const std::string config = fmt::format("sdr, {} ranks", ranks);
    contest jobs{.ours = *on_ranks(ranks), .rounds = 1};
    if (ranks > first) jobs.peer = fewest;
    std::vector<figure> rows{
        {config + ": fence", "virtual time", "us", "fence_us", "", "fence_us"},
        {config + ": post, start, complete, wait", "virtual time", "us", "pscw_us", "", "pscw_us"},
        {config + ": lock_all, put, flush_all, unlock_all", "virtual time", "us", "lock_us", "", "lock_us"}};
    // The logarithm of 1,024 is 10/4 of that of 16. Neighbors do not depend on the number of ranks.
    if (ranks == 1024) {
      rows[0].wanted = {ratio_at_most(1.1 * 10 / 4)};
      rows[1].wanted = rows[2].wanted = {ratio_at_most(1.1)};
    }
    d.compare(jobs, rows);
  }
}

int run_scaling(job_context& job) { return run_ranks(job, measure_scaling); }

// TCP

int measure_tcp(job_context& job) {
  use_a_node_for_each_rank();
  return window_put_latency.measure(job);
}

void drive_tcp(driver& d) {
  const std::string batches = d.tiny() ? "3" : "11", count = d.tiny() ? "20" : "2000";
  for (const std::string provider : {"tcp;ofi_rxm", "net"}) {
    contest jobs{.ours = over_tcp(d, provider, 2, {{"batches", batches}, {"count", count}})};
    const figure row{provider + ": put and flush, 8 B", "time", "ns", "ns"};
    const auto mpis = mpis_over_tcp(2);
    if (mpis.empty()) d.compare(jobs, {row});
    for (const mpi_installation& mpi : mpis) {
      jobs.peer = mpi_over_tcp(d, mpi, 2, {"put_latency", batches, count});
      figure against = row;
      against.config += fmt::format(", against {}", mpi.name);
      against.peer = "ns";
      against.wanted = {ratio_at_most(1)};
      d.compare(jobs, {against});
    }
  }
}

// Overlap

constexpr std::size_t transfer_bytes = std::size_t{1} << 20;

/// Passes virtual time in which the rank does not poll, as if it computed.
void compute(world& w, std::uint64_t ns) {
  fabric::fabric& transport = w.endpoint().transport();
  const std::uint64_t end_ns = w.now_ns() + ns;
  while (w.now_ns() < end_ns) {
    const fabric::alarm by = transport.arm();
    if (!transport.ready()) transport.sleep(by, end_ns - w.now_ns());
    transport.disarm();
  }
}

/// Returns the virtual time from the start of an epoch of rank 0 with one operation, and `computed_ns` between its
/// start and its completion, until the calls of both ranks have returned.
template <class Operation>
double transfer_ns(world& w, window<std::byte>& memory, std::uint64_t computed_ns, Operation operation) {
  const rank_t other = 1 - w.rank();
  if (w.rank() == 1) memory.post(std::span(&other, 1));
  w.barrier();
  const std::uint64_t begin_ns = w.now_ns();
  if (w.rank() == 0) {
    memory.start(std::span(&other, 1));
    operation(other);
    compute(w, computed_ns);
    memory.complete();
  } else {
    memory.wait();
  }
  return static_cast<double>(w.max(w.now_ns()) - begin_ns);
}

/// Adds the share of the shorter part that is hidden, if computing takes as long as the transfer.
template <class Operation>
void measure_hidden(world& w, window<std::byte>& memory, sample& into, const std::string& name, Operation operation) {
  transfer_ns(w, memory, 0, operation);
  const double alone_ns = transfer_ns(w, memory, 0, operation);
  const double both_ns = transfer_ns(w, memory, static_cast<std::uint64_t>(alone_ns), operation);
  into[name + "_us"] = alone_ns * 1e-3;
  into[name + "_both_us"] = both_ns * 1e-3;
  into[name + "_hidden_percent"] = 100 * (2 * alone_ns - both_ns) / alone_ns;
}

sample measure_overlap(world& w) {
  sample result;
  for (const auto& [name, protocol] : named_protocols()) {
    auto memory = w.allocate_window<std::byte>(transfer_bytes, {.name = "overlap", .protocol = protocol});
    std::vector<std::byte> buffer(transfer_bytes, std::byte{1});
    measure_hidden(w, memory, result, key_of(name, "put"),
                   [&](rank_t target) { memory.put(target, 0, std::span<const std::byte>(buffer)); });
    if (w.rank() == 1) {
      expect_equal("bytes put", sum_words(memory.local()), sum_words(buffer));
      std::ranges::fill(memory.local(), std::byte{2});
    }
    measure_hidden(w, memory, result, key_of(name, "get"),
                   [&](rank_t target) { memory.get(target, 0, std::span(buffer)); });
    if (w.rank() == 0) {
      const std::vector<std::byte> expected(transfer_bytes, std::byte{2});
      expect_equal("bytes got", sum_words(buffer), sum_words(expected));
    }
  }
  return result;
}

void drive_overlap(driver& d) {
  const std::optional<job> ranks = on_network(d, "sdr", 2, {});
  if (!ranks) return;
  std::vector<figure> rows;
  for (const std::string operation : {"put", "get"}) {
    for (const auto& [name, protocol] : named_protocols()) {
      const std::string config = fmt::format("sdr: {} of 1 MiB, {}", operation, name);
      const std::string key = key_of(name, operation);
      rows.push_back({config, "transfer", "us", key + "_us"});
      rows.push_back({config, "with computation", "us", key + "_both_us"});
      rows.push_back({config, "hidden", "%", key + "_hidden_percent"});
      if (protocol == window_protocol::rma) rows.back().wanted = {at_least(90)};
    }
  }
  d.compare({.ours = *ranks, .rounds = 1}, rows);
}

int run_overlap(job_context& job) { return run_ranks(job, measure_overlap); }

// Computation

/// Occupies the processor, without calls of Amity.
std::uint64_t compute_steps(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  return value;
}

/// Returns the time of one of these steps.
double measure_step_ns(int batches) {
  constexpr std::uint64_t tried = 1'000'000;
  return median_of(batches, [] { return wall_ns([] { compute_steps(tried); }); }) / tried;
}

// Overlap over TCP

/// Adds the share of a transfer of rank 0 that is hidden by twice as much computation between its start and its flush.
template <class Operation>
void measure_hidden_by_steps(world& w, window<std::byte>& memory, sample& into, const std::string& name, int batches,
                             Operation operation) {
  w.barrier();
  if (w.rank() == 0) {
    memory.lock(lock_kind::exclusive, 1);
    const auto transfer = [&](std::uint64_t steps) {
      return wall_ns([&] {
        operation();
        compute_steps(steps);
        memory.flush(1);
      });
    };
    transfer(0);
    const double alone_ns = median_of(batches, [&] { return transfer(0); });
    const auto steps = static_cast<std::uint64_t>(2 * alone_ns / measure_step_ns(batches));
    const double computed_ns = median_of(batches, [&] { return wall_ns([&] { compute_steps(steps); }); });
    const double both_ns = median_of(batches, [&] { return transfer(steps); });
    memory.unlock(1);
    into[name + "_us"] = alone_ns * 1e-3;
    into[name + "_computed_us"] = computed_ns * 1e-3;
    into[name + "_both_us"] = both_ns * 1e-3;
    into[name + "_hidden_percent"] = 100 * (alone_ns + computed_ns - both_ns) / alone_ns;
  }
  w.barrier();
}

int measure_overlap_tcp(job_context& job) {
  use_a_node_for_each_rank();
  const int batches = std::stoi(job.args.at("batches"));
  const auto bytes = static_cast<std::size_t>(std::stoull(job.args.at("bytes")));
  return run_ranks(job, [&](world& w) {
    sample result;
    auto memory = w.allocate_window<std::byte>(bytes);
    std::vector<std::byte> buffer(bytes, std::byte{1});
    measure_hidden_by_steps(w, memory, result, "put", batches,
                            [&] { memory.put(1, 0, std::span<const std::byte>(buffer)); });
    if (w.rank() == 1) {
      expect_equal("bytes put", sum_words(memory.local()), sum_words(buffer));
      std::ranges::fill(memory.local(), std::byte{2});
    }
    measure_hidden_by_steps(w, memory, result, "get", batches, [&] { memory.get(1, 0, std::span(buffer)); });
    const std::vector<std::byte> expected(bytes, std::byte{2});
    if (w.rank() == 0) expect_equal("bytes got", sum_words(buffer), sum_words(expected));
    return result;
  });
}

void drive_overlap_tcp(driver& d) {
  const std::size_t mib = std::size_t{1} << 20;
  for (const std::string provider : {"net", "tcp;ofi_rxm"}) {
    for (const std::size_t bytes : {mib / 16, mib / 4, mib, 4 * mib}) {
      const std::string size = bytes < mib ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
      contest jobs{
          .ours = over_tcp(d, provider, 2, {{"batches", d.tiny() ? "3" : "31"}, {"bytes", std::to_string(bytes)}})};
      jobs.peer = jobs.ours;
      jobs.peer->name = "without a progress thread";
      jobs.ours.run.environment.emplace_back("AMITY_PROGRESS_THREAD=1");
      if (d.tiny()) jobs.rounds = 1;
      std::vector<figure> rows;
      for (const std::string operation : {"put", "get"}) {
        const std::string config = fmt::format("{}: {} of {}", provider, operation, size);
        for (const auto& [metric, key] :
             {std::pair("transfer", "_us"), {"computation", "_computed_us"}, {"with computation", "_both_us"}})
          rows.push_back({config, metric, "us", operation + key, "", operation + key});
        rows.push_back({config, "hidden", "%", operation + "_hidden_percent", "", operation + "_hidden_percent"});
        if (bytes == mib) rows.back().wanted = {at_least(90)};
      }
      d.compare(jobs, rows);
    }
  }
}

// A target that computes

/// Returns the median time of a lock epoch of rank 0 with `operation`, while rank 1 computes or waits.
template <class Operation>
double served_us(world& w, window<std::byte>& memory, int batches, std::uint64_t steps, Operation operation) {
  return median_of(batches, [&] {
    w.barrier();
    if (w.rank() == 1) {
      compute_steps(steps);
      return 0.0;
    }
    return 1e-3 * wall_ns([&] {
             memory.lock(lock_kind::exclusive, 1);
             operation();
             memory.unlock(1);
           });
  });
}

int measure_computing_target(job_context& job) {
  use_a_node_for_each_rank();
  const int batches = std::stoi(job.args.at("batches"));
  const double computed_ms = std::stod(job.args.at("computed_ms"));
  return run_ranks(job, [&](world& w) {
    const auto steps = static_cast<std::uint64_t>(computed_ms * 1e6 / measure_step_ns(batches));
    sample result;
    auto memory = w.allocate_window<std::byte>(transfer_bytes);
    std::vector<std::byte> buffer(transfer_bytes, std::byte{1});
    const auto measure_both = [&](const std::string& name, auto operation) {
      result[name + "_us"] = served_us(w, memory, batches, 0, operation);
      result[name + "_served_us"] = served_us(w, memory, batches, steps, operation);
    };
    measure_both("word", [&] { memory.put(1, 0, std::span<const std::byte>(buffer).first(8)); });
    measure_both("put", [&] { memory.put(1, 0, std::span<const std::byte>(buffer)); });
    measure_both("get", [&] { memory.get(1, 0, std::span(buffer)); });
    w.barrier();
    if (w.rank() == 1) expect_equal("bytes put", sum_words(memory.local()), sum_words(buffer));
    return result;
  });
}

void drive_computing_target(driver& d) {
  const arguments args{{"batches", d.tiny() ? "3" : "11"}, {"computed_ms", d.tiny() ? "1" : "20"}};
  for (const std::string provider : {"net", "tcp;ofi_rxm"}) {
    contest jobs{.ours = over_tcp(d, provider, 2, args)};
    jobs.peer = jobs.ours;
    jobs.peer->name = "without a progress thread";
    jobs.ours.run.environment.emplace_back("AMITY_PROGRESS_THREAD=1");
    if (d.tiny()) jobs.rounds = 1;
    std::vector<figure> rows;
    for (const auto& [name, key] : {std::pair<std::string, std::string>("put of 8 B", "word"),
                                    {"put of 1 MiB", "put"},
                                    {"get of 1 MiB", "get"}}) {
      const std::string config = fmt::format("{}: {}", provider, name);
      rows.push_back({config, "target waits", "us", key + "_us", "", key + "_us"});
      rows.push_back({config, "target computes", "us", key + "_served_us", "", key + "_served_us"});
      rows.back().wanted = {ratio_at_most(0.2)};
    }
    d.compare(jobs, rows);
  }
}

}  // namespace

const benchmark window_scaling{"window_scaling", "simulated: synchronization of windows on 16 to 1,024 ranks",
                               drive_scaling, run_scaling};
const benchmark window_tcp{"window_tcp", "put of 8 bytes into a window over TCP, and flush", drive_tcp, measure_tcp};
const benchmark window_overlap{"window_overlap", "simulated: puts and gets of 1 MiB while the origin computes",
                               drive_overlap, run_overlap};
const benchmark window_overlap_tcp{"window_overlap_tcp", "puts and gets over TCP while the origin computes",
                                   drive_overlap_tcp, measure_overlap_tcp};
const benchmark window_computing_target{"window_computing_target",
                                        "puts and gets over TCP, of memory of a rank that computes",
                                        drive_computing_target, measure_computing_target};

}  // namespace amity::bench
