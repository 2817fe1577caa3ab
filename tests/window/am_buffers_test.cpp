/// Space of active messages at their target, and descriptions.

#include "amity/window/am_buffers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/window/am_description.hpp"

namespace amity::detail {
namespace {

class am_buffers_of_target : public ::testing::Test {
 protected:
  mutable_bytes part(std::size_t at, std::size_t bytes) { return {memory_.data() + at, bytes}; }

  alignas(64) std::array<std::byte, 4096> memory_{};
  am_buffers buffers_;
};

TEST_F(am_buffers_of_target, overlap_refused) {
  EXPECT_TRUE(buffers_.try_attach(part(100, 100)));
  EXPECT_TRUE(buffers_.try_attach(part(200, 1)));
  EXPECT_TRUE(buffers_.try_attach(part(99, 1)));
  for (const std::size_t at : {98u, 99u, 150u, 199u, 200u}) EXPECT_FALSE(buffers_.try_attach(part(at, 2))) << at;
  EXPECT_FALSE(buffers_.try_attach(part(0, 1000)));
  EXPECT_EQ(buffers_.bytes_attached(), 102u);
}

TEST_F(am_buffers_of_target, unused_buffer_detached) {
  using enum am_buffers::detaching;
  EXPECT_TRUE(buffers_.try_attach(part(0, 100)));
  EXPECT_EQ(buffers_.try_detach(memory_.data() + 1), unknown);
  const am_fit taken = buffers_.try_take({.input = 10, .output = 20}, 1);
  EXPECT_EQ(buffers_.try_detach(memory_.data()), in_use);
  buffers_.give_back({.input = 10, .output = 20}, taken.where, false);
  EXPECT_EQ(buffers_.try_detach(memory_.data()), done);
  EXPECT_EQ(buffers_.try_detach(memory_.data()), unknown);
  EXPECT_FALSE(buffers_.try_take_there({.input = 1, .output = 1}, taken.where));
}

TEST_F(am_buffers_of_target, fitting_segments_taken) {
  EXPECT_TRUE(buffers_.try_attach(part(0, 100)));
  EXPECT_TRUE(buffers_.try_attach(part(100, 200)));
  const am_need segment{.input = 30, .output = 20};
  EXPECT_EQ(buffers_.try_take(segment, 3).segments, 3u);
  EXPECT_EQ(buffers_.bytes_free(), 150u);
  EXPECT_EQ(buffers_.try_take(segment, 9).segments, 2u);
  EXPECT_EQ(buffers_.try_take(segment, 9).segments, 1u);
  EXPECT_EQ(buffers_.try_take(segment, 9).segments, 0u);
  EXPECT_EQ(buffers_.bytes_free(), 0u);
}

// Input and output may lie in different buffers, and neither in two.
TEST_F(am_buffers_of_target, input_and_output_undivided) {
  EXPECT_TRUE(buffers_.try_attach(part(0, 100)));
  EXPECT_TRUE(buffers_.try_attach(part(100, 200)));
  const am_fit both = buffers_.try_take({.input = 180, .output = 100}, 1);
  EXPECT_EQ(both.segments, 1u);
  EXPECT_NE(both.where.input_buffer, both.where.output_buffer);
  EXPECT_EQ(buffers_.bytes_free(), 20u);
  buffers_.give_back({.input = 180, .output = 100}, both.where, false);
  EXPECT_EQ(buffers_.bytes_free(), 300u);
  EXPECT_TRUE(buffers_.can_ever_fit({.input = 100, .output = 180}));
  EXPECT_FALSE(buffers_.can_ever_fit({.input = 110, .output = 110}));
  EXPECT_FALSE(buffers_.can_ever_fit({.input = 250, .output = 0}));
  EXPECT_EQ(buffers_.try_take({.input = 250, .output = 0}, 1).segments, 0u);
}

TEST_F(am_buffers_of_target, owed_bytes_kept) {
  EXPECT_TRUE(buffers_.try_attach(part(0, 100)));
  buffers_.owe(60);
  const am_need segment{.input = 10, .output = 10};
  EXPECT_EQ(buffers_.try_take(segment, 9).segments, 2u);
  EXPECT_EQ(buffers_.try_take(segment, 9).segments, 0u);
  EXPECT_TRUE(buffers_.can_ever_fit(segment));
  EXPECT_FALSE(buffers_.can_ever_fit({.input = 41, .output = 0}));
  std::vector<am_room> owed(3);
  for (am_room& each : owed) EXPECT_TRUE(buffers_.try_take_owed(segment, each));
  EXPECT_EQ(buffers_.bytes_free(), 0u);
  am_room none;
  EXPECT_FALSE(buffers_.try_take_owed(segment, none));
  for (const am_room& each : owed) buffers_.give_back(segment, each, true);
  EXPECT_EQ(buffers_.try_take(segment, 9).segments, 0u);  // it is owed again
  EXPECT_EQ(buffers_.free().front().bytes, 0u);
}

TEST_F(am_buffers_of_target, owed_bytes_kept_in_one_buffer) {
  EXPECT_TRUE(buffers_.try_attach(part(0, 100)));
  EXPECT_TRUE(buffers_.try_attach(part(100, 60)));
  buffers_.owe(80);
  while (buffers_.try_take({.input = 5, .output = 5}, 9).segments > 0) continue;
  am_room where;
  EXPECT_TRUE(buffers_.try_take_owed({.input = 40, .output = 40}, where));
}

// What can never fit while bytes are owed is an error, not an endless wait.
TEST_F(am_buffers_of_target, fit_considers_owed_bytes) {
  EXPECT_TRUE(buffers_.try_attach(part(0, 50)));
  EXPECT_TRUE(buffers_.try_attach(part(100, 100)));
  buffers_.owe(50);
  EXPECT_EQ(buffers_.try_take({.input = 80, .output = 0}, 1).segments, 0u);
  EXPECT_FALSE(buffers_.can_ever_fit({.input = 80, .output = 0}));
  EXPECT_TRUE(buffers_.can_ever_fit({.input = 50, .output = 0}));
}

TEST_F(am_buffers_of_target, places_aligned_and_disjoint) {
  EXPECT_TRUE(buffers_.try_attach(part(1, 100)));
  const std::uint32_t number = buffers_.free().front().buffer;
  std::byte* const first = buffers_.try_place(number, 20, 8);
  EXPECT_EQ(first, memory_.data() + 8);
  EXPECT_EQ(buffers_.try_place(number, 30, 16), memory_.data() + 32);
  EXPECT_EQ(buffers_.try_place(number, 40, 1), nullptr);
  EXPECT_EQ(buffers_.try_place(number, 39, 1), memory_.data() + 62);
  buffers_.remove_place(number, first);
  EXPECT_EQ(buffers_.try_place(number, 31, 1), memory_.data() + 1);
  EXPECT_EQ(buffers_.try_place(number, 1, 1), nullptr);
  EXPECT_EQ(buffers_.try_place(number + 1, 1, 1), nullptr);
}

TEST_F(am_buffers_of_target, chosen_place_verified) {
  EXPECT_TRUE(buffers_.try_attach(part(0, 100)));
  const std::uint32_t number = buffers_.free().front().buffer;
  EXPECT_FALSE(buffers_.try_take_there({.input = 60, .output = 50}, {number, number}));
  EXPECT_TRUE(buffers_.try_take_there({.input = 60, .output = 40}, {number, number}));
  EXPECT_FALSE(buffers_.try_take_there({.input = 1, .output = 0}, {number, number}));
  EXPECT_EQ(buffers_.bytes_free(), 0u);
}

// Descriptions

am_description blocks_and_extra() {
  return {.operation = 3,
          .count_max = 2,
          .input = {.packed_bytes = 12,
                    .footprint = 30,
                    .first = -8,
                    .alignment = 4,
                    .blocks = std::make_shared<const layout>(layout::strided(3, 4, 10).moved(-8))},
          .output = {.packed_bytes = 16, .footprint = 16, .alignment = 8},
          .persistent_bytes = 77,
          .extra = std::vector<std::byte>(5, std::byte{9})};
}

TEST(am_description, encoding_round_trip) {
  const am_description sent = blocks_and_extra();
  EXPECT_EQ(am_description::decode(sent.encode()), sent);
  EXPECT_EQ(am_description::decode(am_description().encode()), am_description());
  EXPECT_EQ(sent.footprint(), 46u);
  EXPECT_EQ(sent.element_bytes(), 8u);
}

TEST(am_description, invalid_encoding_refused) {
  const auto refuses = [](const am_description& wrong) {
    EXPECT_THROW(static_cast<void>(am_description::decode(wrong.encode())), error);
  };
  am_description wrong = blocks_and_extra();
  wrong.input.footprint = 20;  // the last block ends behind it
  refuses(wrong);
  wrong = blocks_and_extra();
  wrong.input.first = -4;  // the first block begins before it
  refuses(wrong);
  wrong = blocks_and_extra();
  wrong.input.packed_bytes = 8;
  refuses(wrong);
  wrong = blocks_and_extra();
  wrong.output.alignment = 3;
  refuses(wrong);
  wrong = blocks_and_extra();
  wrong.count_max = 3;  // 16 bytes are no 3 elements
  refuses(wrong);
  wrong = blocks_and_extra();
  wrong.output.footprint = 24;  // contiguous segments have no gaps
  refuses(wrong);
  const std::vector<std::byte> whole = blocks_and_extra().encode();
  for (std::size_t bytes = 0; bytes < whole.size() - 5; ++bytes)
    EXPECT_THROW(static_cast<void>(am_description::decode(bytes_view(whole).first(bytes))), error) << bytes;
}

}  // namespace
}  // namespace amity::detail
