#include "amity/base/edit_distance.hpp"

#include <array>
#include <string_view>

#include <gtest/gtest.h>

namespace amity {
namespace {

TEST(edit_distance, counts_each_kind_of_change) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("rank", "rank"), 0u);
  EXPECT_EQ(edit_distance("", "rank"), 4u);
  EXPECT_EQ(edit_distance("rank", ""), 4u);
  EXPECT_EQ(edit_distance("rank", "ranks"), 1u) << "insert";
  EXPECT_EQ(edit_distance("ranks", "rank"), 1u) << "delete";
  EXPECT_EQ(edit_distance("rank", "rant"), 1u) << "replace";
  EXPECT_EQ(edit_distance("rank", "rnak"), 1u) << "swap neighbours";
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(nearest, finds_the_best_word_that_is_near_enough) {
  constexpr std::array<std::string_view, 3> words{"threads", "shm", "sim"};
  EXPECT_EQ(nearest("thread", words), "threads");
  EXPECT_EQ(nearest("sim", words), "sim");
  EXPECT_EQ(nearest("sm", words), "shm") << "the first of equally near ones";
  EXPECT_EQ(nearest("processes", words), std::nullopt);
  EXPECT_EQ(nearest("", words), std::nullopt);
  EXPECT_EQ(nearest("sim", {}), std::nullopt);
}

}  // namespace
}  // namespace amity
