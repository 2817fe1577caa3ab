/// Descriptions of members of the node, as introductions say them.

#include "amity/window/neighbors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace amity::detail {
namespace {

constexpr std::uint64_t largest = ~std::uint64_t{0};

core::segment_descriptor segment(rank_t lane, std::uint32_t number, const std::vector<std::uint64_t>& key) {
  core::segment_descriptor made{.key = {}, .number = number, .lane = lane, .bytes = 4096};
  if (!key.empty()) std::memcpy(made.key.bytes.data(), key.data(), key.size() * sizeof key[0]);
  return made;
}

window_description description(const core::segment_descriptor& control, const core::segment_descriptor& data,
                               std::uint64_t bytes) {
  return {.control = control,
          .data = data,
          .control_offset = 128,
          .data_offset = bytes / 2,
          .bytes = bytes,
          .number = static_cast<std::uint32_t>(bytes)};
}

TEST(neighbors, descriptions_are_found_by_member) {
  const std::vector<std::uint64_t> longest(14, largest);
  const std::vector<window_description> all{
      description(segment(0, 0, {}), {}, 0),
      description(segment(1000, 7, {0x0123456789abcdef, 4096, 127, 128, 0, 0, 7}), {}, 300),
      description(segment(3, ~std::uint32_t{0}, longest), segment(4, 1, longest), largest),
      description(segment(3, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), segment(0, 2, {1, 0, 3}), 5),
  };
  neighbors known;
  for (const rank_t i : {2, 0, 3, 1}) {
    ASSERT_TRUE(known.add(7 * i + 1, neighbors::encode(all[static_cast<std::size_t>(i)])));
  }
  known.close();
  std::vector<rank_t> members;
  known.for_each([&](rank_t member) { members.push_back(member); });
  EXPECT_EQ(members, (std::vector<rank_t>{1, 8, 15, 22}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::optional<window_description> found = known.find(static_cast<rank_t>(7 * i + 1));
    ASSERT_TRUE(found);
    EXPECT_EQ(std::memcmp(&*found, &all[i], sizeof all[i]), 0) << i;
  }
  for (const rank_t other : {-1, 0, 2, 23}) EXPECT_FALSE(known.find(other)) << other;
}

TEST(neighbors, small_numbers_take_few_bytes) {
  EXPECT_EQ(neighbors::encode(description(segment(0, 0, {}), {}, 0)).size(), 11u);
  EXPECT_EQ(neighbors::encode(description(segment(0, 0, {1, 127, 128}), {}, 0)).size(), 15u);
}

TEST(neighbors, invalid_bytes_are_refused) {
  const std::vector<std::byte> valid = neighbors::encode(description(segment(0, 0, {1, 2}), {}, 9));
  neighbors known;
  for (std::size_t bytes = 0; bytes < valid.size(); ++bytes) EXPECT_FALSE(known.add(0, bytes_view(valid).first(bytes)));
  std::vector<std::byte> longer = valid;
  longer.push_back(std::byte{});
  EXPECT_FALSE(known.add(0, longer));
  EXPECT_FALSE(known.add(0, std::vector<std::byte>(11, std::byte{0x80})));  // a number of more than 64 bits
  EXPECT_FALSE(known.add(0, std::vector<std::byte>(40, std::byte{100})));   // a key of 100 words
  known.close();
  EXPECT_FALSE(known.find(0));
}

}  // namespace
}  // namespace amity::detail
