#include "amity/base/yielder.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace {

int yields = 0;
bool slow = false;  // as beside a program that computes

}  // namespace

/// In place of the C library's.
int sched_yield() noexcept {
  ++yields;
  if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return 0;
}

namespace amity {
namespace {

TEST(yielder, yields_where_that_is_quick) {
  slow = false;
  yielder others;
  yields = 0;
  EXPECT_TRUE(others.yield());
  EXPECT_EQ(yields, 1);
}

TEST(yielder, believes_a_slow_yield_when_there_is_another_and_then_leaves_it) {
  slow = true;
  yielder others;
  yields = 0;
  EXPECT_TRUE(others.yield()) << "one says little";
  while (others.yield()) continue;  // one more, unless the machine stood still in between
  EXPECT_GE(yields, 2);
  bool rests = false;  // for a while: the machine may stand still for longer
  for (int attempt = 0; attempt < 100 && !rests; ++attempt) {
    const int before = yields;
    rests = !others.yield() && yields == before;
  }
  EXPECT_TRUE(rests);
}

TEST(yielder, whoever_rests_dozes_and_does_not_yield) {
  slow = true;
  yielder others;
  while (others.yield()) continue;
  bool dozed = false;
  for (int attempt = 0; attempt < 100 && !dozed; ++attempt) {
    const int before = yields;
    others.yield_or_doze();
    dozed = yields == before;
  }
  EXPECT_TRUE(dozed);
}

}  // namespace
}  // namespace amity
