/// The contract on shared memory: ranks as processes and as threads, with plenty and with little of everything.

#include <sys/resource.h>
#include <unistd.h>

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

// Not as the superuser, whom no limit of processes binds; as nobody else either, of whom there may be processes.
void become_a_user_with_few_processes() {
  constexpr rlimit few{.rlim_cur = 4, .rlim_max = 4};
  ASSERT_EQ(::setrlimit(RLIMIT_NPROC, &few), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::setresuid(54321, 54321, 54321), 0);
  }
}

TEST(threads, that_the_system_refuses_end_the_job) {
  run_forked(1, [](rank_t) {
    become_a_user_with_few_processes();
    std::string problem;
    try {
      shm::run_threads({}, 8, [](fabric& own) -> int {
        for (;;) own.wait(1'000'000);  // for a packet of a rank that never comes
      });
    } catch (const error& caught) {
      problem = caught.what();
    }
    EXPECT_TRUE(problem.starts_with("amity: threads: cannot start thread ")) << problem;
    EXPECT_TRUE(
        problem.ends_with("of 8: Resource temporarily unavailable; use fewer ranks, or raise the limit of "
                          "processes (ulimit -u)"))
        << problem;
  });
}
#endif

}  // namespace
}  // namespace amity::fabric::testing
