#include "amity/base/stall_clock.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace amity {
namespace {

/// The times below `end_ns`, in steps of 10, at which a report of a wait that begins at 1000 is due.
std::vector<std::uint64_t> due_times(stall_clock clock, std::uint64_t end_ns) {
  std::vector<std::uint64_t> times;
  for (std::uint64_t ns = 0; ns < end_ns; ns += 10) {
    if (clock.is_due(1000 + ns)) times.push_back(ns);
  }
  return times;
}

TEST(stall_clock, repeats_each_period) {
  EXPECT_EQ(due_times(stall_clock(100), 400), (std::vector<std::uint64_t>{100, 200, 300}));
}

TEST(stall_clock, repeats_each_doubling) {
  EXPECT_EQ(due_times(stall_clock(100, stall_clock::repeat::each_doubling), 1000),
            (std::vector<std::uint64_t>{100, 200, 400, 800}));
}

TEST(stall_clock, zero_period_is_never_due) {
  EXPECT_EQ(due_times(stall_clock(0), 1000), std::vector<std::uint64_t>{});
}

TEST(stall_clock, restart_begins_at_next_question) {
  stall_clock clock(100);
  EXPECT_FALSE(clock.is_due(0));
  EXPECT_TRUE(clock.is_due(250));
  EXPECT_DOUBLE_EQ(clock.seconds(), 250e-9);
  clock.restart();
  EXPECT_FALSE(clock.is_due(400));
  EXPECT_FALSE(clock.is_due(499));
  EXPECT_TRUE(clock.is_due(500));
  EXPECT_DOUBLE_EQ(clock.seconds(), 100e-9);
}

}  // namespace
}  // namespace amity
