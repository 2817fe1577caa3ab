#include "amity/interop/shmem/am/meeting.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace amity::shmem {
namespace {

/// Whom a member has heard of, by their places behind it. All do the same, so that one stands for all.
std::set<int> heard_in_group_of(int size, long radix) {
  std::set<int> heard = {0};
  std::map<int, std::set<int>> told;  // when it notified the one that is so far ahead
  meet(
      size, radix, [&](int ahead) { EXPECT_TRUE(told.emplace(ahead, heard).second) << ahead << " twice"; },
      [&](int behind) {
        ASSERT_TRUE(told.contains(behind)) << behind << " does not notify this one before it waits";
        const auto words = told.extract(behind);
        for (int place : words.mapped()) heard.insert((behind + place) % size);
      });
  EXPECT_TRUE(told.empty()) << "some are notified that do not wait for it";
  return heard;
}

TEST(Meeting, EachMemberHearsOfAll) {
  for (long radix : {radix_of_packets, radix_of_stores}) {
    for (int size = 1; size <= 300; ++size) {
      EXPECT_EQ(heard_in_group_of(size, radix).size(), static_cast<std::size_t>(size)) << "in a group of " << size;
    }
    EXPECT_EQ(heard_in_group_of(5000, radix).size(), 5000u);
  }
}

}  // namespace
}  // namespace amity::shmem
