/// The contract over MPI, with plenty and with little of everything. Runs under MPI's launcher.

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "amity/fabric/checked.hpp"
#include "contract.hpp"
#include "mpi_harness.hpp"

namespace amity::fabric::testing {
namespace {

harness ranks_of(std::string name, const std::vector<std::pair<std::string, std::string>>& changes) {
  settings config;
  for (const auto& [setting, value] : changes) config.set(setting, value);
  return {.name = std::move(name), .run = [config](rank_t, const rank_body& body) { run_on_mpi(config, body); }};
}

auto jobs() {
  const harness scarce =
      ranks_of("scarce", {{"AMITY_MPI_CREDITS", "3"}, {"AMITY_MPI_PACKET_BYTES", "1k"}, {"AMITY_MPI_RECEIVES", "2"}});
  const harness one_credit = ranks_of("one_credit", {{"AMITY_MPI_CREDITS", "1"}, {"AMITY_MPI_RECEIVES", "1"}});
  const harness large = ranks_of("large_packets", {{"AMITY_MPI_PACKET_BYTES", "64k"}});
  return ::testing::Combine(
      ::testing::ValuesIn({ranks_of("plenty", {}), scarce, one_credit, large, decorated<checked>("checked", scarce)}),
      ::testing::Values(ranks_of_mpi()));
}

INSTANTIATE_TEST_SUITE_P(mpi, contract, jobs(), job_name);

// Nodes are what they are for the other fabrics.
TEST(mpi_nodes, names_decide) {
  const auto expect_nodes = [](const std::string& name, bool all_on_one) {
    settings config;
    config.set("AMITY_NODE", name);
    run_on_mpi(config, [all_on_one](fabric& own) {
      for (rank_t peer = 0; peer < own.size(); ++peer) EXPECT_EQ(own.node_of(peer), all_on_one ? 0 : peer);
    });
  };
  expect_nodes("", true);
  expect_nodes("a", true);
  expect_nodes(std::to_string(::getpid()), false);
}

}  // namespace
}  // namespace amity::fabric::testing
