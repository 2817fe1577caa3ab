/// The contract on shared memory: ranks as processes and as threads, with plenty and with little of everything.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/checked.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "contract.hpp"

namespace amity::fabric::testing {
namespace {

using changes = std::vector<std::pair<std::string, std::string>>;

settings with(const changes& values) {
  settings config;
  for (const auto& [name, value] : values) config.set(name, value);
  return config;
}

harness threads(std::string name, const changes& values) {
  return {.name = std::move(name), .run = [config = with(values)](rank_t ranks, const rank_body& body) {
            shm::run_threads(config, ranks, [&](fabric& own) {
              body(own);
              return 0;
            });
          }};
}

[[maybe_unused]] harness processes(std::string name, const changes& values) {
  return {.name = std::move(name), .run = [config = with(values)](rank_t ranks, const rank_body& body) {
            const auto job = shm::job_memory::create(ranks);
            run_forked(ranks, [&](rank_t rank) {
              settings own_config = config;
              own_config.set("AMITY_RANKS", std::to_string(ranks));
              own_config.set("AMITY_RANK", std::to_string(rank));
              own_config.set("AMITY_JOB_FD", std::to_string(job.fd()));
              const auto own = shm::join(own_config);
              body(*own);
            });
          }};
}

// Small rings, few buffers: everything fills up and wraps around.
const changes scarce{{"AMITY_SHM_RING_SLOTS", "16"}, {"AMITY_SHM_BUFFERS", "2"}, {"AMITY_SHM_PACKET_BYTES", "1k"}};

INSTANTIATE_TEST_SUITE_P(threads, contract,
                         every_job_of({threads("threads", {}), threads("scarce", scarce),
                                       decorated<checked>("checked", threads("scarce", scarce))}),
                         job_name);

#ifndef __SANITIZE_THREAD__  // it cannot follow memory that processes share, and threads run the same code
INSTANTIATE_TEST_SUITE_P(processes, contract,
                         every_job_of({processes("shm", {}), processes("scarce", scarce),
                                       decorated<checked>("checked", processes("scarce", scarce))}),
                         job_name);
#endif

}  // namespace
}  // namespace amity::fabric::testing
