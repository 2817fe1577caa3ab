#pragma once

/// Jobs for the tests of windows: each fabric, and each path that operations take.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/fabric/mpi_harness.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/worlds.hpp"

namespace amity::testing {

/// Simulated; all operations travel as records.
inline job_kind records_only(std::string name, const fabric::sim::sim_options& options) {
  return {.name = std::move(name),
          .run = [options](rank_t ranks, const settings& config, const std::function<void(fabric::fabric&)>& body) {
            simulated("", options).run(ranks, config, [&](fabric::fabric& whole) {
              fabric::testing::poorer own(whole, false);
              body(own);
            });
          }};
}

inline std::vector<job_kind> all_paths() {
  std::vector<job_kind> kinds = every_job_kind();
  kinds.push_back(records_only("records", {}));
  kinds.push_back(records_only(
      "rough_records", {.seed = 5, .delay_ns_max = 5000, .reorder_percent = 30, .credits = 2, .packet_bytes = 528}));
  return kinds;
}

struct window_job {
  job_kind kind;
  rank_t ranks;
  std::string protocol;  ///< or "checked": promises are verified
  bool helped = false;   ///< each rank has a progress thread; `kind.name` is the fabric
};

/// Jobs whose ranks have progress threads. Over ofi, jobs have one number of ranks, of at most 3: it takes long to
/// start.
inline std::vector<window_job> helped_jobs(const std::vector<rank_t>& numbers,
                                           const std::vector<rank_t>& numbers_of_protocols) {
#ifdef __SANITIZE_THREAD__  // it cannot follow memory that processes share
  const std::vector<std::string> fabrics{"sim", "threads"};
#else
  std::vector<std::string> fabrics{"sim", "threads", "shm"};
  if (network_is_tested) fabrics.emplace_back("ofi");
#endif
  const std::vector<rank_t> one_number{std::min<rank_t>(numbers_of_protocols.back(), 3)};
  std::vector<window_job> jobs;
  for (const std::string& fabric : fabrics) {
    const bool is_slow = fabric == "ofi";
    for (const rank_t ranks : is_slow ? one_number : numbers)
      jobs.push_back({{.name = fabric, .run = {}}, ranks, "automatic", true});
    for (const rank_t ranks : is_slow ? one_number : numbers_of_protocols) {
      for (const char* const protocol : {"send_recv", "buffered", "rma", "checked"})
        jobs.push_back({{.name = fabric, .run = {}}, ranks, protocol, true});
    }
  }
  return jobs;
}

/// Each path with these numbers of ranks, and each other protocol with those.
inline std::vector<window_job> whole_matrix_of_windows(const std::vector<rank_t>& numbers,
                                                       const std::vector<rank_t>& numbers_of_protocols) {
  std::vector<window_job> jobs;
  for (const job_kind& kind : all_paths()) {
    for (const rank_t ranks : numbers) jobs.push_back({kind, ranks, "automatic"});
    for (const rank_t ranks : numbers_of_protocols) {
      for (const char* const protocol : {"send_recv", "buffered", "rma", "checked"})
        jobs.push_back({kind, ranks, protocol});
    }
  }
  if (fabric::testing::ranks_of_mpi() == 0) {
    for (window_job& job : helped_jobs(numbers, numbers_of_protocols)) jobs.push_back(std::move(job));
  }
  return jobs;
}

/// The jobs of threads and processes that each run contains. Each protocol meets processes, and ranks with and without
/// progress threads. A job takes about ten times as long as a simulated one.
struct chosen_job {
  const char* fabric;
  rank_t ranks;
  const char* protocol;
  bool helped = false;
};
inline constexpr chosen_job chosen_jobs[] = {
    {"processes", 1, "automatic"},    {"processes", 2, "automatic"}, {"processes", 2, "rma"},
    {"processes", 3, "buffered"},     {"processes", 4, "send_recv"}, {"threads", 2, "automatic"},
    {"threads", 3, "checked"},
#ifdef __SANITIZE_THREAD__  // it looks at threads only, and here in place of processes
    {"threads", 3, "send_recv"},
#endif
    {"threads", 3, "buffered", true}, {"threads", 2, "rma", true},   {"shm", 3, "automatic", true},
    {"shm", 2, "send_recv", true},    {"shm", 4, "checked", true},   {"ofi", 3, "automatic", true},
};

/// All simulated jobs of the matrix, and the chosen ones with the nearest number of ranks in `numbers`; in whole
/// matrices all jobs.
inline std::vector<window_job> jobs_of_windows(const std::vector<rank_t>& numbers,
                                               const std::vector<rank_t>& numbers_of_protocols) {
  const std::vector<window_job> matrix = whole_matrix_of_windows(numbers, numbers_of_protocols);
  if (whole_matrices()) return matrix;
  const auto is_real = [](const window_job& job) {
    return std::ranges::any_of(chosen_jobs, [&](const chosen_job& chosen) { return job.kind.name == chosen.fabric; });
  };
  std::vector<window_job> jobs;
  std::ranges::remove_copy_if(matrix, std::back_inserter(jobs), is_real);
  for (const chosen_job& chosen : chosen_jobs) {
    // A fabric is absent if it is not available, or not tested under a sanitizer.
    const auto same_fabric = std::ranges::find_if(
        matrix, [&](const window_job& job) { return job.kind.name == chosen.fabric && job.helped == chosen.helped; });
    if (same_fabric == matrix.end()) continue;
    const bool has_one_number = same_fabric->kind.name == "ofi";
    const rank_t ranks =
        has_one_number ? same_fabric->ranks : std::clamp(chosen.ranks, numbers.front(), numbers.back());
    const bool is_there = std::ranges::any_of(jobs, [&](const window_job& job) {
      return job.kind.name == chosen.fabric && job.ranks == ranks && job.protocol == chosen.protocol &&
             job.helped == chosen.helped;
    });
    if (!is_there) jobs.push_back({same_fabric->kind, ranks, chosen.protocol, chosen.helped});
  }
  return jobs;
}

/// The same, with one number of ranks for the other protocols.
inline std::vector<window_job> jobs_of_windows(const std::vector<rank_t>& numbers, rank_t ranks_of_protocols) {
  return jobs_of_windows(numbers, std::vector{ranks_of_protocols});
}

inline std::string name_of_job(const ::testing::TestParamInfo<window_job>& tested) {
  const window_job& of = tested.param;
  return of.kind.name + "_" + std::to_string(of.ranks) + (of.protocol == "automatic" ? "" : "_" + of.protocol) +
         (of.helped ? "_helped" : "");
}

/// A suite whose tests run with a world on each rank.
class on_paths : public ::testing::TestWithParam<window_job> {
 protected:
  void run(const world_body& body, const setting_changes& changes = {}) const {
    const auto& [kind, ranks, protocol, helped] = GetParam();
    const bool checked = protocol == "checked";
    const settings base = helped ? shape(kind.name, ranks, 1, {"AMITY_PROGRESS_THREAD=1"}) : settings();
    const settings config = configured(
        changes,
        configured({{checked ? "AMITY_WINDOW_CHECKED" : "AMITY_WINDOW_PROTOCOL", checked ? "1" : protocol}}, base));
    helped ? run_job(config, body) : run_worlds(kind, ranks, body, config);
  }
};

/// A schedule that differs with each seed.
inline fabric::sim::sim_options random_schedule(std::uint64_t seed) {
  return {.seed = seed,
          .delay_ns_max = seed % 3 == 0 ? 0u : 8000u,
          .reorder_percent = seed % 2 == 0 ? 0u : 40u,
          .credits = static_cast<std::uint32_t>(1 + seed % 5),
          .packet_bytes = seed % 4 == 0 ? 528u : 4096u};
}

/// Runs a random program with each seed, on ranks and schedules that the seed chooses, until one fails.
inline void run_on_random_schedules(const std::function<void(world&, std::uint64_t seed)>& program) {
  for (std::uint64_t seed = 1; seed <= cases(50); ++seed) {
    const rank_t large = case_factor() > 1 && seed % 50 == 0 ? 64 : 24;
    const auto ranks = static_cast<rank_t>(seed % 10 == 0 ? large : 1 + seed % 6);
    fabric::sim::run(ranks, random_schedule(seed), [&](fabric::fabric& whole) {
      fabric::testing::poorer own(whole, seed % 2 == 0);
      world w(own, {});
      program(w, seed);
      w.barrier();
      return 0;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

inline std::vector<rank_t> everyone(const world& w) {
  std::vector<rank_t> all(static_cast<std::size_t>(w.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

inline rank_t previous_of(const world& w) { return (w.rank() + w.size() - 1) % w.size(); }

/// The word of each rank. Collective.
inline std::vector<std::uint64_t> exchange_words(world& w, std::uint64_t own) {
  auto words = w.allocate_window<std::uint64_t>(static_cast<std::size_t>(w.size()));
  words.fence(window_assert::no_precede);
  for (const rank_t each : everyone(w)) words.put(each, static_cast<std::size_t>(w.rank()), own);
  words.fence(window_assert::no_succeed);
  return {words.local().begin(), words.local().end()};
}

/// Computes, without a call of Amity, until another rank has stored this; fails if that takes a minute.
inline void compute_until(const std::uint64_t& word, std::uint64_t value) {
  const std::atomic_ref<std::uint64_t> there(const_cast<std::uint64_t&>(word));
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (there.load(std::memory_order_acquire) != value) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "nothing has served this rank";
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
}

}  // namespace amity::testing
