#pragma once

/// Jobs for the tests of the floors above the fabrics: one body, run once per rank, on every kind of fabric.
///
/// A body shares nothing with other ranks but messages, because its ranks may be fibers, threads or processes. It fails
/// by a failed expectation or an exception. It ends with a barrier, while what its handlers refer to is still there: a
/// rank that leaves earlier takes with it what others still need.

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity::testing {

using endpoint_body = std::function<void(core::endpoint&)>;

/// Where the ranks of a job are, and what disturbs them.
struct job_kind {
  std::string name;  ///< letters, digits and underscores: it becomes part of the tests' names
  std::function<void(rank_t ranks, const settings& config, const std::function<void(fabric::fabric&)>& body)> run;
};

inline void PrintTo(const job_kind& kind, std::ostream* out) { *out << kind.name; }

/// Defaults, with some settings changed: {{"AMITY_SHM_BUFFERS", "2"}, ...}.
using setting_changes = std::vector<std::pair<std::string, std::string>>;
settings configured(const setting_changes& changes, settings config = {});

/// A simulated job that does not end fails after `virtual_seconds_max`.
job_kind simulated(std::string name, fabric::sim::sim_options options);
job_kind threads(std::string name, const setting_changes& changes = {});
job_kind processes(std::string name);

/// Undisturbed and rough simulations, threads with few credits, and processes. The simulations check every call against
/// the contract of fabrics.
std::vector<job_kind> every_job_kind();

/// Runs `body` with an endpoint on each rank of a job.
void run_endpoints(const job_kind& kind, rank_t ranks, const endpoint_body& body, const settings& config = {});

/// As above, simulated; returns what the simulator counted.
fabric::sim::sim_result simulate(rank_t ranks, const fabric::sim::sim_options& options, const endpoint_body& body,
                                 const settings& config = {});

/// The message of the exception that ends the job, or "" if none does.
std::string failure_of(const std::function<void()>& job);

/// As above, of a simulated job with an endpoint on each rank.
std::string failure_in_simulation(rank_t ranks, const fabric::sim::sim_options& options, const endpoint_body& body,
                                  const settings& config = {});

/// Lets virtual time pass on this rank, and what arrives meanwhile wait.
void idle_until(fabric::fabric& own, std::uint64_t time_ns);

/// Every kind of job with numbers of ranks. The undisturbed simulation has 1, 2, 3, 4 and 8 ranks; the other kinds have
/// some of these numbers, or all of them in whole matrices.
std::vector<std::tuple<job_kind, rank_t>> jobs_of_every_kind();

/// A suite whose tests run on the jobs of every kind.
class every_fabric : public ::testing::TestWithParam<std::tuple<job_kind, rank_t>> {
 protected:
  rank_t ranks() const { return std::get<rank_t>(GetParam()); }
  const job_kind& kind() const { return std::get<job_kind>(GetParam()); }
  void run(const endpoint_body& body, const settings& config = {}) const {
    run_endpoints(kind(), ranks(), body, config);
  }
};

inline auto every_job() { return ::testing::ValuesIn(jobs_of_every_kind()); }

inline std::string job_name(const ::testing::TestParamInfo<std::tuple<job_kind, rank_t>>& info) {
  return std::get<job_kind>(info.param).name + "_" + std::to_string(std::get<rank_t>(info.param));
}

}  // namespace amity::testing
