/// Where processes are, and what they may use together.

#include "amity/fabric/neighbourhood.hpp"

#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/node.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/bootstrap/launched.hpp"
#include "harness.hpp"
#include "tests/support/texts.hpp"

namespace amity::fabric::testing {
namespace {

using amity::testing::expect_error;

TEST(cpus, are_told_as_text) {
  cpu_set few;
  for (const std::size_t cpu : {0u, 5u, 130u}) few.add(cpu);
  EXPECT_EQ(few.count(), 3);
  EXPECT_EQ(cpu_set::parse(few.text()).text(), few.text());
  cpu_set more = cpu_set::parse(few.text());
  more.add(5);
  more.add(6);
  few.add(more);
  EXPECT_EQ(few.count(), 4);
  EXPECT_EQ(cpu_set().text(), "");
  EXPECT_EQ(cpu_set::parse("-!").count(), 0);
}

void bind_to(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
}

/// What two processes learn, each bound to one of the first two CPUs that there are.
void meet_bound(const std::vector<std::string>& nodes, const std::vector<rank_t>& node_of, int cpus) {
  std::vector<unsigned> usable;
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) usable.push_back(cpu);
  }
  const auto job = shm::job_memory::create(2);
  run_forked(2, [&](rank_t rank) {
    settings config;
    config.set("AMITY_RANKS", "2");
    config.set("AMITY_RANK", std::to_string(rank));
    config.set("AMITY_JOB_FD", std::to_string(job.fd()));
    bind_to(usable[static_cast<std::size_t>(rank) % usable.size()]);
    const auto start = amity::detail::launched_bootstrap(config);
    start->set_node(nodes[static_cast<std::size_t>(rank)]);
    const neighbourhood found = meet(*start, config);
    EXPECT_EQ(found.node_of, node_of);
    EXPECT_EQ(found.cpus, std::min<int>(cpus, static_cast<int>(usable.size())));
  });
}

TEST(neighbours, share_the_cpus_to_which_each_is_bound) { meet_bound({"here", "here"}, {0, 0}, 2); }
TEST(neighbours, share_none_with_other_nodes) { meet_bound({"here", "there"}, {0, 1}, 1); }

TEST(neighbours, tell_each_other_short_lines) {
  for (const std::string& value : {std::string(8300, 'x'), std::string("net\ntcp")}) {
    const auto job = shm::job_memory::create(1);
    settings config;
    config.set("AMITY_RANK", "0");
    config.set("AMITY_JOB_FD", std::to_string(job.fd()));
    config.set("AMITY_OFI_PROVIDER", value);
    const auto start = amity::detail::launched_bootstrap(config);
    expect_error([&] { meet(*start, config); },
                 {"AMITY_OFI_PROVIDER has " + std::to_string(value.size()) + " bytes, or several lines",
                  "give it one line of at most 255 bytes"});
  }
}

TEST(a_node, has_a_name_of_one_short_line) {
  EXPECT_EQ(node_identity("rack 7"), "rack 7");
  EXPECT_FALSE(node_identity("").empty());
  expect_error([] { node_identity("rack\n7"); }, {"AMITY_NODE", "has several lines", "one line"});
  expect_error([] { node_identity(std::string(256, 'x')); }, {"AMITY_NODE", "256 bytes, more than 255"});
}

}  // namespace
}  // namespace amity::fabric::testing
