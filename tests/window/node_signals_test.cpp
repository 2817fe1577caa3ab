/// Signals by stores: the members are objects of one thread, in turn.

#include "amity/window/node_signals.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace amity::detail {
namespace {

class members {
 public:
  explicit members(rank_t count) {
    const std::size_t bytes = node_signals::bytes(count);
    for (rank_t i = 0; i < count; ++i) memory_.emplace_back(bytes / sizeof(node_signals::word));
    const auto area_of = [this](rank_t member) {
      ++areas_found;
      return reinterpret_cast<std::byte*>(memory_[static_cast<std::size_t>(member)].data());
    };
    for (rank_t i = 0; i < count; ++i)
      all_.emplace_back(i, count, area_of, [this](rank_t member) { woken.push_back(member); });
  }

  node_signals& operator[](rank_t member) { return all_[static_cast<std::size_t>(member)]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

  std::vector<rank_t> woken;
  int areas_found = 0;

 private:
  std::deque<std::vector<node_signals::word>> memory_;
  std::deque<node_signals> all_;
};

class barriers : public ::testing::TestWithParam<rank_t> {};

// The last one may be any of them.
TEST_P(barriers, end_when_all_have_begun) {
  const rank_t count = GetParam();
  members all(count);
  for (rank_t last = 0; last < count; ++last) {
    for (rank_t each = 0; each < count; ++each) {
      if (each != last) all[each].begin_barrier();
    }
    for (int repeated = 0; repeated < 4; ++repeated) {
      for (rank_t each = 0; each < count; ++each) {
        if (each == last) continue;
        ASSERT_FALSE(all[each].try_end_barrier()) << each << " without " << last;
      }
    }
    all[last].begin_barrier();
    for (int round = 0; round < 4; ++round) {
      for (node_signals& each : all) each.try_end_barrier();
    }
    for (node_signals& each : all) ASSERT_TRUE(each.try_end_barrier());
  }
}

TEST_P(barriers, keep_members_within_one_of_another) {
  const rank_t count = GetParam();
  members all(count);
  std::vector<int> ended(static_cast<std::size_t>(count), 0);
  std::mt19937 random(static_cast<unsigned>(count));
  for (node_signals& each : all) each.begin_barrier();
  for (int step = 0; step < 2000; ++step) {
    const auto member = static_cast<rank_t>(random() % static_cast<unsigned>(count));
    if (!all[member].try_end_barrier()) continue;
    ++ended[static_cast<std::size_t>(member)];
    all[member].begin_barrier();
    const auto [least, most] = std::ranges::minmax(ended);
    ASSERT_LE(most - least, 1);
  }
  EXPECT_GT(std::ranges::max(ended), 0);
}

INSTANTIATE_TEST_SUITE_P(node_signals, barriers, ::testing::Values(1, 2, 3, 7, 8, 9, 17, 64, 65, 70));

TEST(node_signals, areas_are_found_at_first_signal) {
  members all(70);
  EXPECT_EQ(std::exchange(all.areas_found, 0), 70);  // each member its own
  for (int times = 0; times < 2; ++times) all[3].post(std::vector<rank_t>{9});
  EXPECT_EQ(std::exchange(all.areas_found, 0), 1);
  all[5].begin_barrier();
  EXPECT_EQ(all.areas_found, 7);
}

TEST(node_signals, posts_are_taken_once) {
  members all(3);
  EXPECT_FALSE(all[2].take_post(0));
  all[0].post(std::vector<rank_t>{2, 1});
  all[0].post(std::vector<rank_t>{2});
  EXPECT_FALSE(all[2].take_post(1));
  EXPECT_TRUE(all[2].take_post(0));
  EXPECT_TRUE(all[2].take_post(0));
  EXPECT_FALSE(all[2].take_post(0));
  EXPECT_TRUE(all[1].take_post(0));
}

TEST(node_signals, completions_are_counted) {
  members all(3);
  all[0].complete(std::vector<rank_t>{2});
  all[1].complete(std::vector<rank_t>{0, 2});
  EXPECT_EQ(all[2].completed(), 2u);
  all[2].take_completed(1);
  EXPECT_EQ(all[2].completed(), 1u);
  EXPECT_EQ(all[0].completed(), 1u);
  EXPECT_EQ(all[1].completed(), 0u);
}

TEST(node_signals, signals_wake_those_that_sleep) {
  members all(3);
  all[1].announce_sleep();
  all[0].begin_barrier();
  EXPECT_EQ(std::exchange(all.woken, {}), std::vector<rank_t>{1});
  all[0].post(std::vector<rank_t>{1, 2});
  EXPECT_EQ(std::exchange(all.woken, {}), std::vector<rank_t>{1});
  all[2].complete(std::vector<rank_t>{0, 1});
  EXPECT_EQ(std::exchange(all.woken, {}), std::vector<rank_t>{1});
  all[1].end_sleep();
  all[0].post(std::vector<rank_t>{1});
  EXPECT_TRUE(all.woken.empty());
}

}  // namespace
}  // namespace amity::detail
