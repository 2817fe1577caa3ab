/// Credit: which space a target keeps for which origins.

#include "amity/window/am_credits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace amity::detail {
namespace {

constexpr am_need segment{.input = 10, .output = 10};

class am_credits_of_target : public ::testing::Test {
 protected:
  void attach(std::size_t at, std::size_t bytes) { EXPECT_TRUE(buffers_.try_attach({memory_.data() + at, bytes})); }
  /// Asks for a unit.
  void extend(rank_t lane, std::uint64_t usable, const am_need& unit = segment) {
    credits_.note_request(unit);
    credits_.extend(lane, segment, usable);
  }
  /// What the origin has been told last.
  std::uint64_t told(rank_t lane) {
    am_credit& known = told_[static_cast<std::size_t>(lane)];
    for (const am_free& now : credits_.take_untold(lane)) known.set(now.buffer, now.bytes);
    return known.bytes();
  }

  alignas(64) std::array<std::byte, 4096> memory_{};
  am_buffers buffers_;
  am_credits credits_{buffers_};
  std::array<am_credit, 4> told_{};
};

TEST_F(am_credits_of_target, as_much_as_usable) {
  attach(0, 1000);
  extend(1, 100);
  EXPECT_EQ(told(1), 100u);
  EXPECT_EQ(buffers_.bytes_free(), 1000u);
  EXPECT_EQ(buffers_.try_take(segment, 1000).segments, 45u);  // others have the rest
  EXPECT_TRUE(credits_.try_take(1, {.input = 50, .output = 50}, {1, 1}));
  EXPECT_FALSE(credits_.try_take(1, {.input = 1, .output = 0}, {1, 1}));
  EXPECT_EQ(buffers_.try_take(segment, 1000).segments, 0u);
  credits_.give_back(1, {.input = 50, .output = 50}, {1, 1});
  EXPECT_EQ(buffers_.try_take(segment, 1000).segments, 0u);  // it is kept
  EXPECT_TRUE(credits_.try_take(1, {.input = 50, .output = 50}, {1, 1}));
}

TEST_F(am_credits_of_target, last_unit_not_given) {
  attach(0, 20);
  extend(1, 1000);
  EXPECT_EQ(told(1), 0u);
  attach(100, 100);
  extend(1, 1000);
  EXPECT_EQ(told(1), 100u);
  EXPECT_EQ(buffers_.try_take(segment, 1000).segments, 1u);
  extend(1, 1000, {.input = 40, .output = 40});
  EXPECT_EQ(told(1), 100u);  // a larger unit no longer fits, but what was given is given
  attach(1000, 200);
  extend(2, 1000, {.input = 100, .output = 100});
  EXPECT_LE(told(2), 60u);                      // nothing of the buffer that such a unit needs
  for (int i = 0; i < 8; ++i) extend(1, 1000);  // all of the latest requests
  EXPECT_GT(told(1), 100u);
}

TEST_F(am_credits_of_target, last_unit_not_given_while_others_have_space) {
  attach(0, 100);
  EXPECT_EQ(buffers_.try_take(segment, 2).segments, 2u);
  extend(1, 1000);
  EXPECT_EQ(told(1), 40u);
}

TEST_F(am_credits_of_target, owed_space_not_given) {
  attach(0, 520);
  buffers_.owe(300);
  extend(1, 1000);
  EXPECT_EQ(told(1), 200u);
  am_room where{};
  EXPECT_TRUE(buffers_.try_take_owed({.input = 150, .output = 150}, where));
  EXPECT_EQ(buffers_.kept_too_much(where.input_buffer), 0u);
}

TEST_F(am_credits_of_target, shared_equally) {
  attach(0, 1020);
  extend(1, 2000);
  EXPECT_EQ(told(1), 1000u);
  extend(2, 2000);
  EXPECT_EQ(told(1), 500u);
  EXPECT_EQ(told(2), 500u);
  EXPECT_FALSE(credits_.try_take(1, {.input = 501, .output = 0}, {1, 1}));
  EXPECT_TRUE(credits_.try_take(1, {.input = 500, .output = 0}, {1, 1}));
}

TEST_F(am_credits_of_target, share_not_exceeded_while_space_is_free) {
  attach(0, 1020);
  extend(1, 100);
  extend(2, 2000);
  EXPECT_EQ(told(1), 100u);
  EXPECT_EQ(told(2), 500u);
}

TEST_F(am_credits_of_target, idle_origins_lose_it) {
  attach(0, 1020);
  extend(1, 1000);
  extend(2, 1000);
  EXPECT_EQ(told(1), 500u);
  for (int bytes = 0; bytes <= 2 * 1020; bytes += 20) {
    EXPECT_TRUE(credits_.try_take(2, segment, {1, 1}));
    credits_.give_back(2, segment, {1, 1});
  }
  extend(2, 1000);
  EXPECT_EQ(told(2), 1000u);
  EXPECT_EQ(told(1), 0u);
}

TEST_F(am_credits_of_target, withdrawn_for_segment_of_other) {
  attach(0, 220);
  extend(1, 200);
  ASSERT_EQ(told(1), 200u);
  const am_need large{.input = 60, .output = 60};
  EXPECT_EQ(buffers_.try_take(large, 1).segments, 0u);
  EXPECT_FALSE(credits_.try_withdraw(large, am_credits::holders::idle));  // it was given just now
  EXPECT_TRUE(credits_.try_withdraw(large, am_credits::holders::all));
  EXPECT_EQ(buffers_.try_take(large, 1).segments, 1u);
  EXPECT_EQ(told(1), 0u);
  EXPECT_FALSE(credits_.try_take(1, segment, {1, 1}));
}

TEST_F(am_credits_of_target, withdrawn_where_others_have_taken_it) {
  attach(0, 220);
  extend(1, 200);
  EXPECT_TRUE(credits_.try_take(1, segment, {1, 1}));
  EXPECT_TRUE(buffers_.try_take_there({.input = 60, .output = 60}, {1, 1}));
  EXPECT_EQ(buffers_.kept_too_much(1), 100u);
  credits_.withdraw_used({1, 1});
  EXPECT_EQ(buffers_.kept_too_much(1), 0u);
  EXPECT_EQ(told(1), 100u);
  credits_.give_back(1, segment, {1, 1});
  EXPECT_EQ(buffers_.try_take(segment, 1000).segments, 0u);
}

TEST_F(am_credits_of_target, nothing_left_of_detached_buffer) {
  attach(0, 120);
  attach(200, 300);
  extend(1, 380);
  EXPECT_EQ(told(1), 380u);
  EXPECT_EQ(buffers_.try_detach(memory_.data()), am_buffers::detaching::done);  // kept space does not prevent it
  credits_.drop_detached();
  EXPECT_EQ(told(1), 260u);
  EXPECT_FALSE(credits_.try_take(1, segment, {1, 1}));
  EXPECT_TRUE(credits_.try_take(1, segment, {2, 2}));
}

TEST(am_credit, size_changes_while_in_use) {
  am_credit credit;
  credit.set(1, 100);
  credit.set(2, 30);
  EXPECT_EQ(credit.bytes(), 130u);
  EXPECT_TRUE(credit.try_take({.input = 50, .output = 20}, {1, 2}));
  EXPECT_FALSE(credit.try_take({.input = 0, .output = 11}, {1, 2}));
  credit.set(1, 40);
  EXPECT_EQ(credit.free_in(1), 0u);
  credit.set(2, 0);
  credit.give_back({.input = 50, .output = 20}, {1, 2});
  EXPECT_EQ(credit.free_in(1), 40u);
  EXPECT_EQ(credit.free().size(), 1u);  // nothing is left of 2
  credit.set(1, 0);
  EXPECT_TRUE(credit.empty());
}

}  // namespace
}  // namespace amity::detail
