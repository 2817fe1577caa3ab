#include "amity/base/yielder.hpp"

#include <sched.h>

#include <chrono>
#include <cstdint>
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

/// Returns how long `of` permits no yield after yields of `long_ns` each, which begin at `now_ns`. Sets `now_ns` to the
/// end of that time.
std::uint64_t rest_ns_after_long_yields(long_yields& of, std::uint64_t& now_ns, std::uint64_t long_ns = 3'000'000) {
  constexpr std::uint64_t step_ns = 100'000;
  while (of.record(now_ns, now_ns + long_ns)) now_ns += long_ns;
  now_ns += long_ns;
  const std::uint64_t begin_ns = now_ns;
  while (!of.permit(now_ns)) now_ns += step_ns;
  return now_ns - begin_ns;
}

constexpr std::uint64_t start_ns = 1'000'000'000'000;

TEST(long_yields, single_long_yield_is_ignored) {
  long_yields of;
  for (std::uint64_t now_ns = start_ns; now_ns < start_ns + 1'000'000'000; now_ns += 50'000'000)
    EXPECT_TRUE(of.record(now_ns, now_ns + 3'000'000));
  EXPECT_TRUE(of.permit(start_ns));
}

// A process that has computed for a moment must not keep ranks asleep for long afterwards.
TEST(long_yields, first_rest_is_short) {
  long_yields of;
  std::uint64_t now_ns = start_ns;
  EXPECT_LE(rest_ns_after_long_yields(of, now_ns), 5'000'000u);
}

// Next to programs that compute, most of the time is slept, also where several of them take their time slices in turn.
TEST(long_yields, rests_double_while_yields_take_long) {
  for (const std::uint64_t long_ns : {3'000'000u, 12'000'000u, 50'000'000u}) {
    long_yields of;
    std::uint64_t now_ns = start_ns, before_ns = rest_ns_after_long_yields(of, now_ns, long_ns);
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t rest_ns = rest_ns_after_long_yields(of, now_ns, long_ns);
      EXPECT_EQ(rest_ns, 2 * before_ns) << long_ns;
      before_ns = rest_ns;
    }
    for (int i = 0; i < 10; ++i) before_ns = rest_ns_after_long_yields(of, now_ns, long_ns);
    EXPECT_EQ(before_ns, 100'000'000u) << long_ns;
  }
}

// One long yield after a rest says that the others still compute.
TEST(long_yields, long_yield_after_rest_prolongs_it) {
  long_yields of;
  std::uint64_t now_ns = start_ns;
  for (int i = 0; i < 10; ++i) rest_ns_after_long_yields(of, now_ns);
  EXPECT_FALSE(of.record(now_ns, now_ns + 3'000'000));
  EXPECT_FALSE(of.permit(now_ns + 3'000'000));
}

TEST(long_yields, rest_is_short_again_after_quick_yields) {
  long_yields of;
  std::uint64_t now_ns = start_ns;
  for (int i = 0; i < 10; ++i) rest_ns_after_long_yields(of, now_ns);
  for (int i = 0; i < 1000; ++i, now_ns += 100'000) EXPECT_TRUE(of.record(now_ns, now_ns + 1000));
  EXPECT_LE(rest_ns_after_long_yields(of, now_ns), 5'000'000u);
}

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
