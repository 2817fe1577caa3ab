#pragma once

/// Jobs of worlds: as jobs.hpp, one floor up.

#include <functional>
#include <tuple>
#include <vector>

#include "amity/world/world.hpp"
#include "tests/support/jobs.hpp"

namespace amity::testing {

using world_body = std::function<void(world&)>;

inline rank_t next_of(const world& w) { return (w.rank() + 1) % w.size(); }

/// Runs `body` with a world on each rank of a job.
inline void run_worlds(const job_kind& kind, rank_t ranks, const world_body& body, const settings& config = {}) {
  kind.run(ranks, config, [&](fabric::fabric& own) {
    world w(own, config);
    body(w);
    w.barrier();
  });
}

/// As above, on the undisturbed simulation, where every packet can be foreseen; returns the message of the exception
/// that has ended the job, or "".
inline std::string failure_in_worlds(rank_t ranks, const world_body& body, const settings& config = {}) {
  return failure_of([&] { run_worlds(simulated("sim", {}), ranks, body, config); });
}

/// A suite whose tests run with a world on each rank.
class on_jobs : public ::testing::TestWithParam<std::tuple<job_kind, rank_t>> {
 protected:
  void run(const world_body& body, const settings& config = {}) const {
    const auto& [kind, ranks] = GetParam();
    run_worlds(kind, ranks, body, config);
  }
  /// What ends the job; "" if nothing does.
  std::string failure_in(const world_body& body) const {
    return failure_of([&] { run(body); });
  }
};

/// One job of each kind, for what cannot depend on the number of ranks.
inline std::vector<std::tuple<job_kind, rank_t>> some_jobs() {
  std::vector<std::tuple<job_kind, rank_t>> jobs;
  rank_t ranks = 2;
  for (job_kind& kind : every_job_kind()) jobs.emplace_back(std::move(kind), ranks++ % 2 + 2);
  return jobs;
}

}  // namespace amity::testing
