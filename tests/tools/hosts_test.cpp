// Jobs on several hosts, whose network is slow, unordered, or breaks.

#include "../support/hosts.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"

namespace amity::tests {
namespace {

using namespace std::chrono_literals;

/// A job of four ranks on two hosts.
child start_on(const testing::hosts& all, const std::string& provider, const std::vector<std::string>& program) {
  std::vector<std::string> words{AMITY_COMMAND, "run", "-n", "4"};
  const auto placing = all.placing(2);
  words.insert(words.end(), placing.begin(), placing.end());
  words.insert(words.end(), program.begin(), program.end());
  return child(words,
               {.environment = {"AMITY_FABRIC=ofi", "AMITY_OFI_PEER_SECONDS=4", "AMITY_OFI_PROVIDER=" + provider}});
}

class several_hosts : public ::testing::TestWithParam<std::string> {};

TEST_P(several_hosts, a_search_is_right_however_the_network_delays_and_reorders) {
  const testing::hosts two(2, {.delay = 300us, .late = 0.25, .lost = 0.001});
  const auto ended = start_on(two, GetParam(), {AMITY_COMMAND, "graph", "bfs", "--kronecker", "10"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "distances and paths are right");
}

TEST_P(several_hosts, one_that_is_cut_off_ends_the_job) {
  testing::hosts two(2);
  child job = start_on(two, GetParam(), {WORLD_PROGRAM, "wait"});
  static_cast<void>(job.wait_for_lines(4));
  two.cut_off(1);
  const auto ended = job.finish();
  EXPECT_NE(ended.status, 0);
  EXPECT_PRED2(contains, ended.errors, "has vanished: No route to host");
}

TEST_P(several_hosts, one_that_cannot_be_reached_is_named) {
  testing::hosts two(2);
  two.cut_off(1);
  std::vector<std::string> words{"env", "AMITY_OFI_CONNECT_SECONDS=1", WORLD_PROGRAM, "sum"};
  const auto ended = start_on(two, GetParam(), words).finish();
  EXPECT_NE(ended.status, 0);
  EXPECT_PRED2(contains, ended.errors, "cannot be reached: no answer within AMITY_OFI_CONNECT_SECONDS");
  EXPECT_PRED2(contains, ended.errors, "10.77.0.");
}

INSTANTIATE_TEST_SUITE_P(over, several_hosts, ::testing::Values("net", "tcp;ofi_rxm"),
                         [](const auto& each) { return each.param == "net" ? "net" : "rxm"; });

}  // namespace
}  // namespace amity::tests
