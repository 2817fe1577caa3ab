/// One-sided calls of unmodified MPI programs: one program (bench/mpi/osc.cpp), compiled with each MPI, runs with the
/// drop-in library and without it.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/window_jobs.hpp"

namespace amity::bench {
namespace {

/// What each run of the program measures.
struct plan {
  std::string what;
  int count;  ///< operations per batch
  int batches = 21;
  int ranks = 2;
  int rounds = 7;
};

enum class form : bool { native, drop_in };

job run_of(const driver& d, const mpi_installation& mpi, const plan& full, form which) {
  const int batches = d.tiny() ? std::min(full.batches, 3) : full.batches;
  const int count = d.tiny() ? std::min(full.count, 20) : full.count;
  return d.mpi_osc(mpi, full.ranks, {full.what, std::to_string(batches), std::to_string(count)},
                   which == form::drop_in);
}

/// Returns the MPIs that have a drop-in library.
std::vector<mpi_installation> served_mpis() {
  auto all = mpi_installations();
  std::erase_if(all, [](const mpi_installation& each) { return each.drop_in.empty(); });
  return all;
}

open_contest contest_of(const driver& d, const std::vector<mpi_installation>& mpis, const plan& full) {
  open_contest jobs{{}, {}, full.rounds};
  for (const mpi_installation& mpi : mpis) {
    jobs.ours.push_back(run_of(d, mpi, full, form::drop_in));
    jobs.peers.push_back(run_of(d, mpi, full, form::native));
  }
  return jobs;
}

bool is_open_mpi(const job& which) { return which.name.ends_with("Open MPI"); }

/// Compares the library under each MPI with the faster MPI.
void compare(driver& d, const plan& full, const std::vector<figure>& figures) {
  // The ranks of MPICH spin if they outnumber the cores.
  if (d.tiny() && full.ranks > 2) return;
  d.compare_with_best(contest_of(d, served_mpis(), full), figures);
}

figure time_ns(std::string config, std::string key, std::vector<asked> wanted) {
  return {std::move(config), "time", "ns", std::move(key), "", "", std::move(wanted)};
}

/// What is asked of windows on memory of the program: nothing if processes cannot read each other's memory.
std::vector<asked> asked_of_created(const driver& d, double ratio) {
  const auto mpis = served_mpis();
  if (mpis.empty() || d.measure(run_of(d, mpis.front(), {"single_copy", 1, 1}, form::native)).at("works") == 0)
    return {};
  return {ratio_at_most(ratio)};
}

void drive_put_latency(driver& d) {
  compare(d, {"put_latency", 20'000},
          {time_ns("allocated", "allocated_ns", {ratio_at_most(1)}),
           time_ns("created", "created_ns", asked_of_created(d, 0.9))});
}

void drive_get_latency(driver& d) {
  compare(d, {"get_latency", 20'000},
          {time_ns("allocated", "allocated_ns", {ratio_at_most(1)}),
           time_ns("created", "created_ns", asked_of_created(d, 0.9))});
}

void drive_put_rate(driver& d) {
  compare(d, {"put_rate", 50'000}, {{"puts of 8 B, one flush", "rate", "M/s", "m_per_s", "", "", {ratio_at_least(1)}}});
}

void drive_put_bandwidth(driver& d) {
  compare(d, {"put_bandwidth", 800},
          {{"64 KiB", "bandwidth", "GB/s", "64k_gbps", "", "", {ratio_at_least(1)}},
           {"1 MiB", "bandwidth", "GB/s", "1m_gbps", "", "", {ratio_at_least(1)}}});
}

void drive_lock(driver& d) {
  compare(d, {"lock", 5'000},
          {time_ns("allocated, exclusive", "allocated_exclusive_ns", {ratio_at_most(1)}),
           time_ns("allocated, shared", "allocated_shared_ns", {ratio_at_most(1)}),
           time_ns("created, exclusive", "created_exclusive_ns", {ratio_at_most(1)}),
           time_ns("created, shared", "created_shared_ns", {ratio_at_most(1)})});
}

void drive_flush(driver& d) {
  // A batch is short, so that most of them run without other ranks in between. Jobs of 64 ranks start slowly.
  for (const int ranks : {2, 64}) {
    compare(d, {"flush", 1000, 201, ranks, ranks == 2 ? 7 : 1},
            {time_ns(fmt::format("flush, {} ranks", ranks), "flush_ns", {ratio_at_most(0.8)}),
             time_ns(fmt::format("flush_all, {} ranks", ranks), "flush_all_ns", {ratio_at_most(0.8)})});
  }
}

/// Compares the library under each MPI with that MPI: the first window, and the last of `full.count`.
void compare_windows(driver& d, const std::string& kind, plan full) {
  full.what = "windows_" + kind;
  const std::string config = fmt::format("{}, {} ranks", kind, full.ranks);
  for (const mpi_installation& mpi : served_mpis()) {
    d.compare_with_best(
        contest_of(d, {mpi}, full),
        std::vector<figure>{
            {config + ", 1st", "time", "us", "first_us", "", "", {ratio_at_most(1.25)}},
            {fmt::format("{}, {}th", config, full.count), "time", "us", "last_us", "", "", {ratio_at_most(1.25)}}});
  }
}

void drive_window(driver& d) {
  compare_windows(d, "created", {"", 10'000, 101, 2, 3});
  compare_windows(d, "allocated", {"", 1'000, 101, 2, 3});
  if (d.tiny()) return;
  // MPICH takes tens to hundreds of milliseconds for each of them if its ranks outnumber the cores.
  for (const std::string kind : {"created", "allocated"}) compare_windows(d, kind, {"", 20, 11, 4, 3});
  compare_windows(d, "created", {"", 20, 11, 8, 1});
}

void drive_atomics(driver& d) {
  const std::vector<asked> wanted{ratio_at_most(1.1)};
  compare(d, {"atomics", 10'000},
          {time_ns("accumulate, 8 B", "accumulate_ns", wanted), time_ns("fetch_and_op, 8 B", "fetch_and_op_ns", wanted),
           time_ns("compare_and_swap, 4 B", "compare_and_swap_ns", wanted)});
  auto swaps = contest_of(d, served_mpis(), {"long_swap", 10'000});
  // Open MPI 4.1.4 crashes, and leaves files in /dev/shm behind: not in tests.
  if (d.tiny()) std::erase_if(swaps.peers, is_open_mpi);
  d.compare_with_best(swaps, std::vector<figure>{time_ns("compare_and_swap, 8 B", "compare_and_swap_ns", wanted)});
}

void drive_accumulate(driver& d) {
  std::vector<figure> figures;
  for (const std::string kind : {"allocated", "created"}) {
    for (const int bits : {8, 32, 64}) {
      figures.push_back(time_ns(fmt::format("{}, {} bits", kind, bits), fmt::format("{}_{}_bits_ns", kind, bits),
                                {ratio_at_most(1)}));
    }
  }
  compare(d, {"accumulate", 1000}, figures);
}

void drive_types(driver& d) {
  std::vector<figure> figures;
  for (const std::string operation : {"put", "accumulate"}) {
    for (const int kib : {1, 8, 64}) {
      figures.push_back(time_ns(fmt::format("{}, {} KiB", operation, kib), fmt::format("{}_{}k_ns", operation, kib),
                                {ratio_at_most(1)}));
    }
  }
  compare(d, {"types", 1000}, figures);
}

void drive_busy_target(driver& d) {
  const plan full{"busy_target", 200, 5, 2, 3};
  auto jobs = contest_of(d, served_mpis(), full);
  for (job& each : jobs.ours) each.run.environment.emplace_back("AMITY_PROGRESS_THREAD=1");
  d.compare_with_best(jobs, std::vector<figure>{{"allocated", "time", "ms", "allocated_ms", "", "", {at_most(0.1)}},
                                                {"created", "time", "ms", "created_ms", "", "", {at_most(0.5)}}});
}

void drive_tcp(driver& d) {
  const plan full{"network_put", 2'000};
  for (const std::string provider : {"tcp;ofi_rxm", "net"}) {
    auto jobs = contest_of(d, served_mpis(), full);
    for (job& each : jobs.ours) {
      const auto settings = tcp_settings(provider);
      each.run.environment.insert(each.run.environment.end(), settings.begin(), settings.end());
    }
    // MPI_Finalize of MPICH 4.0.2 sometimes does not return over TCP.
    std::erase_if(jobs.peers, std::not_fn(is_open_mpi));
    for (job& each : jobs.peers) use_tcp(each);
    d.compare_with_best(jobs, std::vector<figure>{{provider, "time", "us", "us", "", "", {ratio_at_most(1)}}});
  }
}

void compare_epochs(driver& d, const std::string& what) {
  const auto row = [](const std::string& config) {
    return figure{config, "time", "us", "us", "", "", {ratio_at_most(1)}};
  };
  compare(d, {what, 2000}, {row("empty, 2 ranks")});
  // An epoch of MPICH takes 20 to 40 ms then.
  compare(d, {what, 20, 5, 8, 3}, {row("empty, 8 ranks")});
}

void drive_fence(driver& d) { compare_epochs(d, "fence"); }
void drive_pscw(driver& d) { compare_epochs(d, "pscw"); }

/// Compares the library under each MPI with that MPI: calls that have nothing to do with windows.
void drive_messages(driver& d) {
  for (const mpi_installation& mpi : served_mpis()) {
    for (const bool has_window : {false, true}) {
      const auto row = [&](const std::string& call, const std::string& key) {
        return time_ns(call + (has_window ? ", a window" : ", no window"), key, {ratio_at_most(1.05)});
      };
      d.compare_with_best(contest_of(d, {mpi}, {has_window ? "messages_with_window" : "messages", 5'000}),
                          std::vector<figure>{row("MPI_Send, MPI_Recv, 8 B", "send_8_ns"),
                                              row("MPI_Send, MPI_Recv, 64 KiB", "send_64k_ns"),
                                              row("MPI_Isend, MPI_Irecv, MPI_Waitall, 8 B", "waitall_8_ns"),
                                              row("MPI_Test, 8 B", "test_8_ns"), row("MPI_Barrier", "barrier_ns"),
                                              row("MPI_Allreduce, 8 B", "allreduce_ns")});
    }
  }
}

int measure_elsewhere(job_context&) { return 2; }

}  // namespace

const benchmark osc_put_latency{"osc_put_latency", "MPI programs: put of 8 bytes, and flush", drive_put_latency,
                                measure_elsewhere};
const benchmark osc_get_latency{"osc_get_latency", "MPI programs: get of 8 bytes, and flush", drive_get_latency,
                                measure_elsewhere};
const benchmark osc_put_rate{"osc_put_rate", "MPI programs: puts of 8 bytes, one flush at the end", drive_put_rate,
                             measure_elsewhere};
const benchmark osc_put_bandwidth{"osc_put_bandwidth", "MPI programs: puts of 64 KiB and 1 MiB", drive_put_bandwidth,
                                  measure_elsewhere};
const benchmark osc_lock{"osc_lock", "MPI programs: lock, put of 8 bytes, and unlock", drive_lock, measure_elsewhere};
const benchmark osc_flush{"osc_flush", "MPI programs: flushes without operations since the last one", drive_flush,
                          measure_elsewhere};
const benchmark osc_window{"osc_window", "MPI programs: creation of windows", drive_window, measure_elsewhere};
const benchmark osc_atomics{"osc_atomics", "MPI programs: accumulate, fetch_and_op and compare_and_swap", drive_atomics,
                            measure_elsewhere};
const benchmark osc_accumulate{"osc_accumulate", "MPI programs: accumulates of 8 KiB of small elements",
                               drive_accumulate, measure_elsewhere};
const benchmark osc_types{"osc_types", "MPI programs: puts and accumulates of strided types", drive_types,
                          measure_elsewhere};
const benchmark osc_passive_busy_target{"osc_passive_busy_target",
                                        "MPI programs: lock, put and unlock while the target computes",
                                        drive_busy_target, measure_elsewhere};
const benchmark osc_tcp{"osc_tcp", "MPI programs: put of 8 bytes over TCP, and flush", drive_tcp, measure_elsewhere};
const benchmark osc_fence{"osc_fence", "MPI programs: fences without operations", drive_fence, measure_elsewhere};
const benchmark osc_pscw{"osc_pscw", "MPI programs: post, start, complete and wait without operations", drive_pscw,
                         measure_elsewhere};
const benchmark osc_messages{"osc_messages", "MPI programs: messages and collectives, with a window and without",
                             drive_messages, measure_elsewhere};

}  // namespace amity::bench
