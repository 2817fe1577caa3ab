/// Layouts against lists of the places of single bytes.

#include "amity/window/layout.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/texts.hpp"

namespace amity {
namespace {

using testing::expect_error;
using places = std::vector<std::ptrdiff_t>;  ///< of the bytes of the data, in their order

places places_of(const layout& of, std::size_t from, std::size_t bytes) {
  places all;
  of.for_each(from, bytes, [&](std::ptrdiff_t offset, std::size_t part) {
    EXPECT_GT(part, 0u);
    for (std::size_t i = 0; i < part; ++i) all.push_back(offset + static_cast<std::ptrdiff_t>(i));
  });
  return all;
}
places places_of(const layout& of) { return places_of(of, 0, of.bytes()); }

places repeated(const places& of, std::size_t count, std::ptrdiff_t stride) {
  places all;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::ptrdiff_t each : of) all.push_back(each + static_cast<std::ptrdiff_t>(i) * stride);
  }
  return all;
}

struct described {
  layout made;
  places expected;
};

described random_layout(std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  std::vector<layout::block> blocks(static_cast<std::size_t>(below(5)));
  described one;
  for (layout::block& each : blocks) {
    each = {.offset = below(200) - 100, .bytes = static_cast<std::size_t>(below(9))};
    for (std::size_t i = 0; i < each.bytes; ++i) one.expected.push_back(each.offset + static_cast<std::ptrdiff_t>(i));
  }
  one.made = layout::indexed(blocks);
  for (int depth = below(4); depth > 0; --depth) {
    const auto count = static_cast<std::size_t>(below(4));
    const std::ptrdiff_t stride = below(2) == 0 ? below(300) - 150 : static_cast<std::ptrdiff_t>(one.made.bytes());
    one.made = one.made.repeated(count, stride);
    one.expected = repeated(one.expected, count, stride);
  }
  return one;
}

TEST(layouts, have_places_of_their_blocks) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const auto [made, expected] = random_layout(random);
    ASSERT_EQ(made.bytes(), expected.size());
    ASSERT_EQ(places_of(made), expected);
    if (expected.empty()) {
      EXPECT_EQ(made.first(), 0);
      EXPECT_EQ(made.end(), 0);
      EXPECT_EQ(made, layout());
      continue;
    }
    EXPECT_EQ(made.first(), *std::ranges::min_element(expected));
    EXPECT_EQ(made.end(), *std::ranges::max_element(expected) + 1);
    const std::size_t from = random() % expected.size();
    const std::size_t bytes = random() % (expected.size() - from + 1);
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(from);
    EXPECT_EQ(places_of(made, from, bytes), places(begin, begin + static_cast<std::ptrdiff_t>(bytes)));
    EXPECT_EQ(layout::decode(made.encode()), made);
  }
}

// Blocks of one size are copied in another way than others, and parts of them in a third.
TEST(layouts, pack_and_unpack_parts) {
  std::mt19937 random(9);
  std::vector<std::byte> memory(1 << 15);
  for (std::byte& each : memory) each = static_cast<std::byte>(random());
  for (int i = 0; i < 3000; ++i) {
    constexpr std::array<std::size_t, 10> sizes{1, 2, 4, 5, 8, 12, 16, 24, 32, 64};
    const std::size_t size = sizes[random() % sizes.size()];
    std::vector<layout::block> blocks;
    std::ptrdiff_t end = 0;
    for (auto count = 1 + random() % 4; count > 0; --count) {
      blocks.push_back({.offset = end + 1 + static_cast<std::ptrdiff_t>(random() % 20), .bytes = size});
      end = blocks.back().offset + static_cast<std::ptrdiff_t>(size);
    }
    if (random() % 4 == 0) blocks.back().bytes += 3;
    const layout made = layout::indexed(blocks).repeated(1 + random() % 6, random() % 2 == 0 ? end + 9 : -end - 9);
    const std::size_t from = random() % made.bytes(), bytes = random() % (made.bytes() - from + 1);
    const places expected = places_of(made, from, bytes);

    std::byte* const base = memory.data() + memory.size() / 2;
    std::vector<std::byte> packed(bytes);
    made.pack(base, from, packed);
    for (std::size_t byte = 0; byte < bytes; ++byte) ASSERT_EQ(packed[byte], base[expected[byte]]) << i;

    std::vector<std::byte> unpacked = memory, written = memory;
    for (std::byte& each : packed) each ^= std::byte{0xff};
    made.unpack(unpacked.data() + memory.size() / 2, from, packed);
    for (std::size_t byte = 0; byte < bytes; ++byte)
      written[static_cast<std::size_t>(expected[byte]) + memory.size() / 2] = packed[byte];
    ASSERT_EQ(unpacked, written) << i;
  }
}

TEST(layouts, moved_places) {
  std::mt19937 random(8);
  for (int i = 0; i < 300; ++i) {
    const auto [made, expected] = random_layout(random);
    const auto bytes = static_cast<std::ptrdiff_t>(random() % 100) - 50;
    places moved = expected;
    for (std::ptrdiff_t& each : moved) each += bytes;
    EXPECT_EQ(places_of(made.moved(bytes)), moved);
    EXPECT_EQ(made.moved(bytes).moved(-bytes), made);
  }
  EXPECT_EQ(layout::strided(1'000'000, 8, 64).moved(24).encode().size(), 40u);
}

TEST(layouts, small_where_regular) {
  EXPECT_EQ(layout::contiguous(100).repeated(1000, 100), layout::contiguous(100'000));
  EXPECT_TRUE(layout::contiguous(100).repeated(1000, 100).is_contiguous());
  EXPECT_TRUE(layout::contiguous(0).is_contiguous());
  EXPECT_FALSE(layout::strided(2, 4, 8).is_contiguous());
  EXPECT_EQ(layout::strided(1'000'000, 8, 64).encode().size(), 40u);
  EXPECT_EQ(layout::strided(10, 8, 64).repeated(10, 640), layout::strided(100, 8, 64));
  EXPECT_EQ(layout::indexed({{0, 4}, {4, 4}, {12, 0}, {8, 8}}), layout::contiguous(16));
}

TEST(layouts, impossible_ones_refused) {
  constexpr std::ptrdiff_t far = std::numeric_limits<std::ptrdiff_t>::max();
  const auto refused = [](auto&& make, std::string_view problem) {
    expect_error([&] { static_cast<void>(make()); },
                 {"window layout", problem, "describe data of less than 2^63 bytes"});
  };
  refused([=] { return layout::contiguous(8).moved(far); }, "an offset of");
  refused([] { return layout::contiguous(SIZE_MAX); }, "blocks of more than 0 bytes");
  refused([] { return layout::strided(std::size_t{1} << 40, 8, std::ptrdiff_t{1} << 40); },
          "steps of 1099511627776 bytes");
  refused([] { return layout::indexed({{far - 3, 8}}); }, "and 8 bytes");
  refused([] { return layout::indexed({{0, far}, {-9, far}}); }, "blocks of more than");
}

TEST(layouts, bytes_that_are_none_refused) {
  const auto refused = [](std::vector<std::byte> encoded, std::string_view problem) {
    expect_error([&] { static_cast<void>(layout::decode(encoded)); }, {"window layout", problem});
  };
  std::vector<std::byte> encoded = layout::strided(3, 4, 8).encode();
  refused({}, "0 bytes instead of a layout");
  refused({encoded.begin(), encoded.end() - 1}, "a layout of 1 blocks in 39 bytes");
  refused({encoded.begin(), encoded.end() - 16}, "a layout of 1 blocks in 24 bytes");
  std::vector<std::byte> empty = encoded;
  std::fill(empty.end() - 8, empty.end(), std::byte{0});
  refused(empty, "a block of 0 bytes");
  std::fill(encoded.begin() + 8, encoded.begin() + 16, std::byte{0xff});
  refused(encoded, "steps of");
}

}  // namespace
}  // namespace amity
