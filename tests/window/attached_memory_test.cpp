/// The pieces that are attached to a dynamic window, against a model that counts for each byte.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "amity/window/attached_memory.hpp"
#include "tests/support/texts.hpp"

namespace amity::detail {
namespace {

bool has_all(const attached_memory& of, std::uint64_t begin, std::size_t bytes) {
  return of.find_problem(begin, bytes, nullptr, 0).empty();
}

TEST(attached_memory, pieces_overlap) {
  attached_memory all;
  EXPECT_FALSE(has_all(all, 100, 1));
  all.attach(100, 200);
  all.attach(150, 250);
  all.attach(250, 300);
  EXPECT_TRUE(has_all(all, 100, 200));
  EXPECT_FALSE(has_all(all, 99, 2));
  EXPECT_FALSE(has_all(all, 299, 2));
  EXPECT_FALSE(all.detach(160));
  EXPECT_TRUE(all.detach(100));
  EXPECT_FALSE(all.detach(100));
  EXPECT_FALSE(has_all(all, 149, 2));
  EXPECT_TRUE(has_all(all, 150, 150));
  EXPECT_FALSE(has_all(all, 150, SIZE_MAX));
}

TEST(attached_memory, matches_model) {
  constexpr std::size_t bytes = 64;
  std::mt19937_64 random(7);
  for (int run = 0; run < 200; ++run) {
    attached_memory all;
    std::array<int, bytes> model{};
    std::vector<std::pair<std::size_t, std::size_t>> pieces;
    for (int step = 0; step < 60; ++step) {
      if (pieces.empty() || random() % 2 == 0) {
        const std::size_t begin = random() % (bytes - 1), end = begin + 1 + random() % (bytes - begin);
        all.attach(begin, end);
        pieces.emplace_back(begin, end);
        for (std::size_t i = begin; i < end; ++i) ++model.at(i);
      } else {
        const std::size_t begin = pieces[random() % pieces.size()].first;
        const auto newest =
            std::ranges::find(pieces.rbegin(), pieces.rend(), begin, [](const auto& p) { return p.first; });
        ASSERT_TRUE(all.detach(begin));
        for (std::size_t i = begin; i < newest->second; ++i) --model.at(i);
        pieces.erase(std::next(newest).base());
      }
      for (std::size_t begin = 0; begin < bytes; ++begin) {
        const std::size_t length = 1 + random() % (bytes - begin);
        const bool expected = std::all_of(model.begin() + static_cast<std::ptrdiff_t>(begin),
                                          model.begin() + static_cast<std::ptrdiff_t>(begin + length),
                                          [](int count) { return count > 0; });
        ASSERT_EQ(has_all(all, begin, length), expected) << "run " << run << ", step " << step << ", byte " << begin;
      }
    }
  }
}

TEST(attached_memory, problems_name_nearest_piece) {
  attached_memory all;
  testing::expect_parts(all.find_problem(0x500, 8, nullptr, 0),
                        {"8 bytes at address 0x500 are not attached", "no memory is attached"});
  all.attach(0x100, 0x200);
  all.attach(0x800, 0x900);
  testing::expect_parts(all.find_problem(0x200, 8, nullptr, 0),
                        {"8 bytes at address 0x200", "the nearest attached memory is 0x100 to 0x1ff, 256 bytes"});
  testing::expect_parts(all.find_problem(0x7f8, 16, nullptr, 0), {"the nearest attached memory is 0x800 to 0x8ff"});
  const layout blocks = layout::indexed({{.offset = 0x10, .bytes = 8}, {.offset = 0x600, .bytes = 4}});
  testing::expect_parts(all.find_problem(0x100, 12, &blocks, 0), {"4 bytes at address 0x700 are not attached"});
  EXPECT_EQ(all.find_problem(0x100, 8, &blocks, 0), "");
  const layout far = layout::indexed({{.offset = 0x100, .bytes = 8}, {.offset = 0x800, .bytes = 4}});
  EXPECT_EQ(all.find_problem(0, 12, &far, 0), "");
}

}  // namespace
}  // namespace amity::detail
