/// The benchmarks' program. `scripts/bench` builds it and calls it; see docs/benchmarks.md.

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/benchmarks.hpp"
#include "bench/machine_load.hpp"
#include "bench/raw/raw.hpp"

namespace amity::bench {
namespace {

/// Share of the processors' time that other programs may take without a warning.
constexpr double others_percent_max = 5;

const benchmark* const benchmarks[] = {
    &short_latency,
    &medium_latency,
    &short_flood,
    &put_shm,
    &memory_worlds,
    &window_put_latency,
    &window_get_latency,
    &window_put_rate,
    &window_put_bandwidth,
    &window_atomics,
    &window_fence,
    &window_pscw,
    &window_pscw_put,
    &window_pscw_get,
    &window_scaling,
    &window_tcp,
    &window_overlap,
    &window_overlap_tcp,
    &window_computing_target,
    &am_latency,
    &am_sync_time,
    &am_flush,
    &am_throughput,
    &am_scaling,
    &am_contention,
    &amv_throughput,
    &amv_bytes,
    &am_shm,
    &ghost_cells,
    &ghost_cells_tcp,
    &long_shm,
    &injection_shm,
    &long_injection,
    &c_interface,
    &coalesced_rate,
    &histogram,
    &coalesce_auto,
    &index_gather,
    &span_handler,
    &large_values,
    &combine_keys,
    &epoch_time,
    &polling,
    &oversubscribed_rate,
    &busy_machine,
    &idle_cpu,
    &termination_virtual,
    &sim_events,
    &sim_scale,
    &small_scale_memory,
    &threads,
    &thread_safety_cost,
    &exploration,
    &graph500_bfs,
    &graph500_sssp,
    &pbgl_bfs,
    &pbgl_sssp,
    &cost_bfs,
    &cost_sssp,
    &real_graphs,
    &weak_scaling,
    &strong_scaling,
    &mpi_short_latency,
    &mpi_coalesced_rate,
    &osc_put_latency,
    &osc_get_latency,
    &osc_put_rate,
    &osc_put_bandwidth,
    &osc_lock,
    &osc_flush,
    &osc_window,
    &osc_atomics,
    &osc_accumulate,
    &osc_types,
    &osc_passive_busy_target,
    &osc_tcp,
    &osc_fence,
    &osc_pscw,
    &osc_messages,
    &ofi_bandwidth,
    &long_latency,
    &long_round_trip,
    &ofi_short_latency,
    &ofi_coalesced_rate,
    &composite_overhead,
#ifdef AMITY_BENCH_SHMEM_PROGRAM
    &shmem_transfers,
    &shmem_messages,
    &shmem_bandwidth,
    &shmem_rate,
    &shmem_rings,
    &shmem_contention,
    &shmem_salesman,
    &shmem_busy_machine,
    &shmem_network,
#endif
};

const raw_limit* const raw_limits[] = {&line_handover, &copy_in_out,   &shared_buffers,
                                       &single_copy,   &tcp_ping_pong, &fiber_letters};

const benchmark& find(const std::string& name) {
  const auto* const found = std::ranges::find(benchmarks, name, &benchmark::name);
  if (found == std::end(benchmarks))
    throw std::runtime_error("there is no benchmark '" + name + "'; without a name all are listed");
  return **found;
}

/// What the user asked for on the command line.
struct request {
  std::vector<std::string> names;
  std::string json_file;
  bool tiny = false;
  std::string job;                 ///< this process is a job of a benchmark or a raw limit
  std::vector<std::string> words;  ///< its arguments, "key=value"
};

int run_job(const request& what, int argc, char** argv) {
  job_context job{argc, argv, what.tiny, {}};
  for (const auto& word : what.words) {
    const auto equals = word.find('=');
    job.args[word.substr(0, equals)] = word.substr(equals + 1);
  }
  const auto* const limit = std::ranges::find(raw_limits, what.job, &raw_limit::name);
  if (limit != std::end(raw_limits)) {
    print_sample((*limit)->measure(job));
    return 0;
  }
  return find(what.job).measure(job);
}

void list() {
  for (const auto* one : benchmarks) fmt::print("{:<20} {}\n", one->name, one->summary);
}

int run_benchmarks(const request& what) {
  driver driver(what.tiny);
  auto names = what.names;
  if (std::ranges::count(names, "all") > 0) {
    names.clear();
    for (const auto* one : benchmarks) names.emplace_back(one->name);
  }
  for (const auto& name : names) find(name);
  for (const auto& name : names) {
    const auto rows_before = driver.rows().size();
    const auto notes_before = driver.notes().size();
    const machine_load load;
    driver.run(find(name));
    fmt::print("{}", to_table(std::span(driver.rows()).subspan(rows_before)));
    for (const auto& note : std::span(driver.notes()).subspan(notes_before)) fmt::print("{}\n", note);
    if (const auto others = load.others_percent(); others > others_percent_max && !what.tiny) {
      fmt::print("Other programs took {:.0f} % of the processors meanwhile: do not trust these figures.\n", others);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  if (!what.json_file.empty()) {
    std::ofstream file(what.json_file);
    file << to_json(driver.rows()).dump(2) << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write '" + what.json_file + "'");
  }
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("Benchmarks of amity: ours, the raw limit of the machine and a peer, measured in turn.");
  request what;
  app.add_option("names", what.names, "Benchmarks to run, or all; none: list them");
  app.add_option("--json", what.json_file, "Also write the rows to this file, as a JSON array");
  app.add_flag("--tiny", what.tiny, "Run for a fraction of a second each: for tests; the figures mean nothing");
  app.add_option("--job", what.job)->group("");
  app.add_option("--with", what.words)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!what.job.empty()) return run_job(what, argc, argv);
  if (what.names.empty()) {
    list();
    return 0;
  }
  return run_benchmarks(what);
}

}  // namespace
}  // namespace amity::bench

int main(int argc, char** argv) {
  try {
    return amity::bench::run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "bench: {}\n", failure.what());
    return 1;
  }
}
