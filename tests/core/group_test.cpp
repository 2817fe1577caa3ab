/// Groups: from members to lanes of the job and back, for members in any order and ranks with several threads.

#include "amity/core/group.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/core/member_lists.hpp"

namespace amity::core {
namespace {

constexpr rank_t threads_max = 3;

/// Returns the member whose rank is `rank`, by a search.
rank_t member_of(const std::vector<rank_t>& ranks, rank_t rank) {
  for (std::size_t member = 0; member < ranks.size(); ++member) {
    if (ranks[member] == rank) return static_cast<rank_t>(member);
  }
  return no_rank;
}

class groups : public ::testing::TestWithParam<testing::member_list> {};
INSTANTIATE_TEST_SUITE_P(core, groups, ::testing::ValuesIn(testing::member_lists()), testing::list_name);

TEST_P(groups, lane_of_each_member) {
  const std::vector<rank_t> ranks = GetParam().of(9);
  for (rank_t threads = 1; threads <= threads_max; ++threads) {
    for (rank_t receiver = 0; receiver < threads; ++receiver) {
      const group members(rank_list(ranks), threads, receiver);
      ASSERT_EQ(members.size(), 9);
      EXPECT_EQ(members.threads(), threads);
      for (rank_t member = 0; member < members.size(); ++member) {
        const rank_t rank = ranks[static_cast<std::size_t>(member)];
        EXPECT_EQ(members.rank(member), rank);
        EXPECT_EQ(members.lane(member), rank * threads + receiver);
        for (rank_t thread = 0; thread < threads; ++thread) {
          EXPECT_EQ(members.lane(member, thread), rank * threads + thread);
        }
      }
    }
  }
}

TEST_P(groups, member_of_each_lane) {
  const std::vector<rank_t> ranks = GetParam().of(9);
  for (rank_t threads = 1; threads <= threads_max; ++threads) {
    const group members(rank_list(ranks), threads, threads - 1);
    for (rank_t lane = 0; lane < 100 * threads; ++lane) {
      EXPECT_EQ(members.find(lane), member_of(ranks, lane / threads)) << lane;
    }
  }
}

}  // namespace
}  // namespace amity::core
