#include "amity/core/rank_list.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace amity::core {
namespace {

void expect_members(const std::vector<rank_t>& ranks, bool regular) {
  const rank_list list(ranks);
  EXPECT_EQ(list.regular(), regular);
  ASSERT_EQ(list.size(), static_cast<rank_t>(ranks.size()));
  for (rank_t rank = 0; rank < 40; ++rank) {
    rank_t member = no_rank;
    for (rank_t i = 0; i < list.size(); ++i) {
      if (ranks[static_cast<std::size_t>(i)] == rank) member = i;
    }
    EXPECT_EQ(list.find(rank), member) << rank;
    if (member != no_rank) {
      EXPECT_EQ(list[member], rank);
    }
  }
}

TEST(rank_list, of_regular_members) {
  expect_members({}, true);
  expect_members({7}, true);
  expect_members({0, 1, 2, 3}, true);
  expect_members({5, 8, 11, 14}, true);
  expect_members({9, 7, 5, 3}, true);
  expect_members({30, 2}, true);
}

TEST(rank_list, of_any_members) {
  expect_members({0, 1, 3}, false);
  expect_members({4, 2, 3, 1}, false);
  expect_members({1, 2, 4, 8, 16, 32}, false);
}

}  // namespace
}  // namespace amity::core
