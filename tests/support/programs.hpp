#pragma once

/// Jobs of whole programs, whose ranks may have several threads.

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "amity/core/team.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "tests/fabric/harness.hpp"

namespace amity::testing {

using program = std::function<void(world&)>;

/// Those on which ranks with several threads are tested without a network.
inline std::vector<std::string> fabrics_with_threads() {
#ifdef __SANITIZE_THREAD__  // it cannot follow memory that processes share, nor fibers of many kinds at once
  return {"threads"};
#else
  return {"sim", "threads", "shm"};
#endif
}

/// The settings of a job of this shape.
inline settings shape(const std::string& fabric, rank_t ranks, rank_t threads, std::vector<std::string> more = {}) {
  for (const auto& [name, value] : {std::pair{"AMITY_RANKS", std::to_string(ranks)},
                                    {"AMITY_THREADS", std::to_string(threads)},
                                    {"AMITY_FABRIC", fabric},
                                    // Few credits, so that sends meet refusals.
                                    {"AMITY_SHM_BUFFERS", std::string("2")},
                                    {"AMITY_SHM_PACKET_BYTES", std::string("1k")},
                                    {"AMITY_SIM_CREDITS", std::string("2")},
                                    {"AMITY_OFI_CREDITS", std::string("2")},
                                    {"AMITY_OFI_ADDRESS", std::string("127.0.0.1")}}) {
    more.push_back(std::string(name) + "=" + value);
  }
  return settings::from_list(more);
}

template <class Program>
int run_here(const settings& config, const Program& body) {
  const char* const arguments[] = {"test", nullptr};
  return run(config, 1, arguments, body);
}

#ifdef __SANITIZE_ADDRESS__  // libfabric does not give back all that it takes
inline const bool network_is_tested = false;
#else
inline const bool network_is_tested = fabric::ofi::available();
#endif

struct outcome {
  int status;
  std::string errors;
};

template <class Program>
outcome outcome_of(const settings& config, const Program& body) {
  ::testing::internal::CaptureStderr();
  const int status = run_here(config, body);
  return {status, ::testing::internal::GetCapturedStderr()};
}

/// Runs the job and requires that it ends well: `threads`, `sim` and single ranks in this process, the others in one
/// for each rank, with neighbours by number on other nodes where the fabric knows nodes.
inline void run_job(const settings& config, const program& body) {
  const std::string& fabric = config.text("AMITY_FABRIC");
  if (fabric == "threads" || fabric == "sim" || (fabric == "ofi" && config.integer("AMITY_RANKS") == 1)) {
    EXPECT_EQ(run_here(config, body), 0);
    return;
  }
  // libfabric looks at the whole machine when it is first used: once here, not once a rank.
  if (fabric != "shm") static_cast<void>(fabric::ofi::describe(config, 1));
  const auto ranks = static_cast<rank_t>(config.integer("AMITY_RANKS"));
  const auto job = fabric::shm::job_memory::create(ranks * core::threads_per_rank(config));
  fabric::testing::run_forked(ranks, [&](rank_t rank) {
    settings own = config;
    own.set("AMITY_RANK", std::to_string(rank));
    own.set("AMITY_JOB_FD", std::to_string(job.fd()));
    if (fabric == "composite") own.set("AMITY_NODE", std::to_string(rank % 2));
    if (run_here(own, body) != 0) throw std::runtime_error("the rank has failed");
  });
}

}  // namespace amity::testing
