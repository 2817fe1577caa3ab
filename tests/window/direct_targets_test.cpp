/// The table of members whose memory is mapped.

#include "amity/window/direct_targets.hpp"

#include <atomic>
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

namespace amity::detail {
namespace {

constexpr rank_t count = 2000;

/// A base that belongs to the member, and is not used.
std::byte* base_of(rank_t member) {
  return reinterpret_cast<std::byte*>(std::size_t{64} * (std::size_t{1} + static_cast<std::size_t>(member)));
}

// Squares share places; multiples of a number hardly do.
TEST(direct_targets, members_are_found_after_growth) {
  direct_targets all;
  EXPECT_EQ(all.find(0), nullptr);
  int moves = 0;
  for (rank_t i = 0; i < count; ++i) {
    const rank_t member = i * i;
    EXPECT_EQ(all.find(member), nullptr);
    moves += all.add(member, base_of(member), static_cast<std::size_t>(i), nullptr) ? 0 : 1;
    if (i == 0) all.find(0)->is_open = true;
  }
  EXPECT_LT(moves, 20);
  EXPECT_TRUE(all.find(0)->is_open);
  for (rank_t i = 0; i < count; ++i) {
    const direct_targets::target* const found = all.find(i * i);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->base, base_of(i * i));
    EXPECT_EQ(found->bytes, static_cast<std::size_t>(i));
    EXPECT_EQ(all.find(i * i + 2), nullptr);
  }
}

TEST(direct_targets, targets_stay_until_others_have_moved) {
  direct_targets all;
  all.add(0, base_of(0), 1, nullptr);
  const direct_targets::target* first = all.find(0);
  for (rank_t member = 1; member < count; ++member) {
    if (!all.add(member, base_of(member), 1, nullptr)) first = all.find(0);
    EXPECT_EQ(first, all.find(0));
  }
}

// A member is found as a whole, or not yet.
TEST(direct_targets, another_thread_may_look_during_additions) {
  direct_targets all;
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      for (rank_t member = 0; member < count; member += 17) {
        const direct_targets::target* const found = all.find(member);
        if (found == nullptr) continue;
        EXPECT_EQ(found->base, base_of(member));
        EXPECT_EQ(found->bytes, 8u);
      }
    }
  });
  for (rank_t member = 0; member < count; ++member) {
    all.add(member, base_of(member), 8, nullptr);
    all.find(member)->is_open = true;
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace amity::detail
