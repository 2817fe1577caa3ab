// Jobs on several hosts, whose network is slow, unordered, or breaks.

#include "../support/hosts.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "tests/support/cases.hpp"

namespace amity::tests {
namespace {

using namespace std::chrono_literals;

/// `program` on hosts of as many ranks each. What is said of the fabric is in the errors.
child start_on(const testing::hosts& all, int ranks, int ranks_each, const std::vector<std::string>& settings,
               const std::vector<std::string>& program) {
  std::vector<std::string> words{AMITY_COMMAND, "run", "-n", std::to_string(ranks)};
  const auto placing = all.placing(ranks_each);
  words.insert(words.end(), placing.begin(), placing.end());
  words.insert(words.end(), program.begin(), program.end());
  std::vector<std::string> environment{"AMITY_OFI_PEER_SECONDS=4", "AMITY_FABRIC_SHOWN=1"};
  environment.insert(environment.end(), settings.begin(), settings.end());
  return child(words, {.environment = environment});
}

/// How ranks on several hosts reach each other.
struct road {
  std::string name;
  std::vector<std::string> settings;
};

std::vector<road> roads() {
  std::vector<road> all{{"net", {"AMITY_FABRIC=ofi", "AMITY_OFI_PROVIDER=net"}},
                        {"rxm", {"AMITY_FABRIC=ofi", "AMITY_OFI_PROVIDER=tcp;ofi_rxm"}},
                        {"composite", {"AMITY_FABRIC=composite"}}};
  if (testing::whole_matrices()) all.push_back({"threads", {"AMITY_FABRIC=composite", "AMITY_THREADS=2"}});
  return all;
}

class several_hosts : public ::testing::TestWithParam<road> {
 protected:
  /// A job of four ranks on two hosts.
  static child start(const testing::hosts& two, const std::vector<std::string>& program) {
    return start_on(two, 4, 2, GetParam().settings, program);
  }
};

TEST_P(several_hosts, a_search_is_right_however_the_network_delays_and_reorders) {
  const testing::hosts two(2, {.delay = 300us, .late = 0.25, .lost = 0.001});
  const auto ended = start(two, {AMITY_COMMAND, "graph", "bfs", "--kronecker", "10"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "distances and paths are right");
}

TEST_P(several_hosts, one_that_is_cut_off_ends_the_job) {
  testing::hosts two(2);
  child job = start(two, {WORLD_PROGRAM, "wait"});
  static_cast<void>(job.wait_for_lines(4));
  two.cut_off(1);
  const auto ended = job.finish();
  EXPECT_NE(ended.status, 0);
  // The connection does not show which rank of that host has opened it.
  const std::string reason = " has vanished: No route to host";
  EXPECT_TRUE(contains(ended.errors, "the host of ranks 2, 3" + reason) ||
              contains(ended.errors, "the host of ranks 0, 1" + reason))
      << ended.errors;
}

TEST_P(several_hosts, one_that_cannot_be_reached_is_named) {
  testing::hosts two(2);
  two.cut_off(1);
  const auto ended = start(two, {"env", "AMITY_OFI_CONNECT_SECONDS=1", WORLD_PROGRAM, "sum"}).finish();
  EXPECT_NE(ended.status, 0);
  EXPECT_PRED2(contains, ended.errors, "cannot be reached: no answer within AMITY_OFI_CONNECT_SECONDS");
  EXPECT_PRED2(contains, ended.errors, "10.77.0.");
}

TEST_P(several_hosts, a_rank_that_is_killed_ends_the_job) {
  const testing::hosts two(2);
  const auto ended = start(two, {WORLD_PROGRAM, "kill"}).finish();
  // A rank that misses rank 3 may end before the launcher sees that rank 3 was killed: the kernel closes connections
  // first.
  EXPECT_TRUE(ended.status == 128 + SIGKILL || ended.status == 1) << ended.status;
  EXPECT_PRED2(contains, ended.errors, "rank 3");
}

INSTANTIATE_TEST_SUITE_P(over, several_hosts, ::testing::ValuesIn(roads()),
                         [](const auto& each) { return each.param.name; });

TEST(composite_on_hosts, shares_memory_on_each_and_uses_the_network_across) {
  const testing::hosts three(3);
  const auto ended = start_on(three, 6, 2, {"AMITY_FABRIC=composite"}, {WORLD_PROGRAM, "sum"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "rank 5 of 6: sum 15");
  EXPECT_PRED2(contains, ended.output + ended.errors, "fabric: composite: ");
  EXPECT_GT(three.frames_carried(), 20u);
}

TEST(composite_on_hosts, needs_no_shared_memory_where_ranks_are_alone) {
  const testing::hosts three(3);
  const auto ended = start_on(three, 3, 1, {"AMITY_FABRIC=composite"}, {WORLD_PROGRAM, "sum"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "rank 2 of 3: sum 3");
  EXPECT_PRED2(contains, ended.output + ended.errors, "fabric: ofi: ");
}

}  // namespace
}  // namespace amity::tests
