#include "tests/support/jobs.hpp"

#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "amity/fabric/checked.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/waiter.hpp"
#include "amity/world/transport.hpp"
#include "tests/fabric/harness.hpp"
#include "tests/fabric/mpi_harness.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/virtual_time.hpp"

namespace amity::testing {
namespace {

using fabric::sim::sim_options;

/// That of the settings, unless the environment names another: `FABRIC=ofi message_test --gtest_filter='*processes*'`.
/// `ofi_registered` is ofi with the provider's remote memory and registered local memory.
setting_changes fabric_of_processes(const settings& config) {
  const char* const wanted = std::getenv("FABRIC");
  const std::string by = wanted != nullptr ? wanted : config.text("AMITY_FABRIC");
  if (by != "ofi_registered") return {{"AMITY_FABRIC", by}};
  return {{"AMITY_FABRIC", "ofi"}, {"AMITY_OFI_SEALED", "0"}, {"AMITY_OFI_REGISTER_LOCAL", "1"}};
}

}  // namespace

settings configured(const setting_changes& changes, settings config) {
  for (const auto& [name, value] : changes) config.set(name, value);
  return config;
}

job_kind simulated(std::string name, sim_options options) {
  return {.name = std::move(name), .run = [options](rank_t ranks, const settings&, const auto& body) {
            fabric::sim::run(ranks, options, [&](fabric::fabric& own) {
              limited_in_time limited(own);
              fabric::checked inspected(limited);
              body(inspected);
              return 0;
            });
          }};
}

job_kind threads(std::string name, const setting_changes& changes) {
  return {.name = std::move(name), .run = [changes](rank_t ranks, const settings& config, const auto& body) {
            fabric::shm::run_threads(configured(changes, config), ranks, [&](fabric::fabric& own) {
              body(own);
              return 0;
            });
          }};
}

/// What a rank needs besides, where one machine plays two nodes.
static settings on_its_node(rank_t rank, settings config) {
  if (config.text("AMITY_FABRIC") != "composite") return config;
  return configured({{"AMITY_NODE", std::to_string(rank % 2)}, {"AMITY_OFI_ADDRESS", "127.0.0.1"}}, std::move(config));
}

job_kind processes(std::string name) {
  return {.name = std::move(name), .run = [](rank_t ranks, const settings& config, const auto& body) {
            const auto job = fabric::shm::job_memory::create(ranks);
            const settings of_job = configured(fabric_of_processes(config), config);
            // libfabric looks at the whole machine when it is first used: once here, not once a rank.
            if (of_job.text("AMITY_FABRIC") != "shm") static_cast<void>(fabric::ofi::describe(of_job, ranks));
            fabric::testing::run_forked(ranks, [&](rank_t rank) {
              const auto own = configured({{"AMITY_RANK", std::to_string(rank)},
                                           {"AMITY_RANKS", std::to_string(ranks)},
                                           {"AMITY_JOB_FD", std::to_string(job.fd())}},
                                          of_job);
              const auto transport = amity::detail::join_job(on_its_node(rank, own));
              body(*transport);
            });
          }};
}

/// With few credits. The number of ranks is the launcher's choice: the filter of the tests must fit.
static job_kind over_mpi() {
  return {.name = "mpi", .run = [](rank_t, const settings& config, const auto& body) {
            fabric::testing::run_on_mpi(
                configured({{"AMITY_MPI_CREDITS", "4"}, {"AMITY_MPI_PACKET_BYTES", "1k"}}, config), body);
          }};
}

std::vector<job_kind> every_job_kind() {
  if (fabric::testing::ranks_of_mpi() > 0) return {over_mpi()};
  return {
      simulated("sim", {}),
      simulated("rough_sim", {.delay_ns_max = 4000, .reorder_percent = 40, .credits = 2, .packet_bytes = 528}),
      threads("threads",
              {{"AMITY_SHM_BUFFERS", "2"}, {"AMITY_SHM_RING_SLOTS", "16"}, {"AMITY_SHM_PACKET_BYTES", "1k"}}),
      processes("processes"),
  };
}

/// What depends on the number of ranks shows in the simulation. Jobs of threads and processes take longer, and show
/// what depends on the transport.
static std::vector<rank_t> chosen_numbers_of(const std::string& kind) {
  if (kind == "rough_sim") return {3, 8};
  if (kind == "threads") return {2, 4};
  if (kind == "processes") return {1, 3, 8};
  return {1, 2, 3, 4, 8};
}

std::vector<std::tuple<job_kind, rank_t>> jobs_of_every_kind() {
  std::vector<std::tuple<job_kind, rank_t>> jobs;
  for (const job_kind& kind : every_job_kind()) {
    const std::vector<rank_t> numbers =
        whole_matrices() ? std::vector<rank_t>{1, 2, 3, 4, 8} : chosen_numbers_of(kind.name);
    for (const rank_t ranks : numbers) jobs.emplace_back(kind, ranks);
  }
  return jobs;
}

void run_endpoints(const job_kind& kind, rank_t ranks, const endpoint_body& body, const settings& config) {
  kind.run(ranks, config, [&](fabric::fabric& transport) {
    core::endpoint own(transport, config);
    body(own);
  });
}

fabric::sim::sim_result simulate(rank_t ranks, const sim_options& options, const endpoint_body& body,
                                 const settings& config) {
  return fabric::sim::run(ranks, options, [&](fabric::fabric& transport) {
    limited_in_time limited(transport);
    core::endpoint own(limited, config);
    body(own);
    return 0;
  });
}

std::string failure_of(const std::function<void()>& job) {
  try {
    job();
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return "";
}

std::string failure_in_simulation(rank_t ranks, const sim_options& options, const endpoint_body& body,
                                  const settings& config) {
  return failure_of([&] { simulate(ranks, options, body, config); });
}

void idle_until(fabric::fabric& own, std::uint64_t time_ns) {
  while (own.now_ns() < time_ns) wait(own, time_ns - own.now_ns());
}

}  // namespace amity::testing
