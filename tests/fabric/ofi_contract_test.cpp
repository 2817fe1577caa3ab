/// The contract on libfabric: ranks as processes, over each provider that works on one machine.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/checked.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/transport.hpp"
#include "contract.hpp"

namespace amity::fabric::testing {
namespace {

using changes = std::vector<std::pair<std::string, std::string>>;

/// Each process is `threads` ranks of the fabric.
harness processes(std::string name, const changes& values, rank_t threads = 1) {
  return {.name = std::move(name), .run = [values, threads](rank_t ranks, const rank_body& body) {
            const auto job = shm::job_memory::create(ranks);
            // libfabric looks at the whole machine when it is first used: once here, not once a rank.
            static_cast<void>(ofi::describe(settings(), ranks));
            run_forked(ranks / threads, [&](rank_t rank) {
              settings config;
              config.set("AMITY_FABRIC", "ofi");
              config.set("AMITY_RANKS", std::to_string(ranks / threads));
              config.set("AMITY_THREADS", std::to_string(threads));
              config.set("AMITY_RANK", std::to_string(rank));
              config.set("AMITY_JOB_FD", std::to_string(job.fd()));
              for (const auto& [setting, value] : values) config.set(setting, value);
              const auto own = amity::detail::join_job(config, amity::detail::connect(config), threads);
              run_lanes(*own, [&](fabric& lane) {
                body(lane);
                return 0;
              });
            });
          }};
}

const changes scarce{{"AMITY_OFI_CREDITS", "2"}, {"AMITY_OFI_PACKET_BYTES", "1k"}};

changes scarce_over(const std::string& provider) {
  changes values = scarce;
  values.emplace_back("AMITY_OFI_PROVIDER", provider);
  return values;
}

auto jobs_of(const std::vector<harness>& harnesses, const std::vector<rank_t>& ranks) {
  return ::testing::Combine(::testing::ValuesIn(harnesses), ::testing::ValuesIn(ranks));
}

/// With the remote memory of the provider.
changes unsealed(changes values) {
  values.emplace_back("AMITY_OFI_SEALED", "0");
  return values;
}

harness scarce_net() { return processes("scarce", scarce_over("net")); }

// The layer on TCP takes its time to connect: once is enough.
INSTANTIATE_TEST_SUITE_P(tcp, contract, jobs_of({processes("unsealed", unsealed(scarce_over("tcp;ofi_rxm")))}, {3}),
                         job_name);
INSTANTIATE_TEST_SUITE_P(net, contract, jobs_of({scarce_net()}, {1, 2, 4}), job_name);
INSTANTIATE_TEST_SUITE_P(net_standard, contract,
                         jobs_of({processes("unsealed", unsealed({{"AMITY_OFI_PROVIDER", "net"}}))}, {2}), job_name);
INSTANTIATE_TEST_SUITE_P(
    net_registered, contract,
    jobs_of({processes("unsealed", unsealed({{"AMITY_OFI_PROVIDER", "net"}, {"AMITY_OFI_REGISTER_LOCAL", "1"}}))}, {2}),
    job_name);
INSTANTIATE_TEST_SUITE_P(net_checked, contract,
                         jobs_of({decorated<checked>("checked", processes("unsealed", unsealed(scarce_over("net"))))},
                                 {3}),
                         job_name);
INSTANTIATE_TEST_SUITE_P(net_threads, contract, jobs_of({processes("scarce", scarce_over("net"), 2)}, {4}), job_name);
INSTANTIATE_TEST_SUITE_P(shm, contract, jobs_of({processes("unsealed", unsealed(scarce_over("shm")))}, {3}), job_name);

}  // namespace
}  // namespace amity::fabric::testing
