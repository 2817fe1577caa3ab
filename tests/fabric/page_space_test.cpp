/// Which pages of chunks are free.

#include "amity/fabric/shm/page_space.hpp"

#include <cstddef>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace amity::fabric::shm {
namespace {

constexpr std::size_t page = page_space::page_bytes, chunk = page_space::chunk_bytes;

TEST(page_space, pieces_are_whole_pages) {
  page_space space;
  EXPECT_FALSE(space.take(1));
  space.add_chunk(4 * chunk);
  EXPECT_EQ(space.take(1), 4 * chunk);
  EXPECT_EQ(space.take(page + 1), 4 * chunk + page);
  EXPECT_EQ(space.take(page), 4 * chunk + 3 * page);
}

TEST(page_space, pages_given_back_join) {
  page_space space;
  space.add_chunk(0);
  for (std::size_t i = 0; i < chunk / page; ++i) ASSERT_EQ(space.take(page), i * page);
  EXPECT_FALSE(space.take(page));
  for (const std::size_t i : {5, 7, 6}) space.give_back(i * page, page);
  EXPECT_EQ(space.take(3 * page), 5 * page);
}

// A mapping covers one chunk.
TEST(page_space, chunks_do_not_join) {
  page_space space;
  space.add_chunk(0);
  space.add_chunk(chunk);
  const std::size_t half = chunk / 2;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(space.take(half));
  space.give_back(half, half);
  space.give_back(chunk, half);
  EXPECT_FALSE(space.take(chunk));
}

TEST(page_space, pieces_never_overlap) {
  page_space space;
  std::map<std::size_t, std::size_t> taken;
  std::mt19937 random(1);
  for (std::size_t step = 0, chunks = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 && !taken.empty()) {
      auto one = taken.begin();
      std::advance(one, random() % taken.size());
      space.give_back(one->first, one->second);
      taken.erase(one);
      continue;
    }
    const std::size_t bytes = 1 + random() % page_space::bytes_max;
    auto piece = space.take(bytes);
    if (!piece) {
      space.add_chunk(chunk * chunks++);
      piece = space.take(bytes);
    }
    ASSERT_TRUE(piece);
    ASSERT_EQ(page_space::chunk_of(*piece), page_space::chunk_of(*piece + bytes - 1));
    const auto after = taken.lower_bound(*piece);
    if (after != taken.end()) {
      ASSERT_GE(after->first, *piece + bytes);
    }
    if (after != taken.begin()) {
      ASSERT_LE(std::prev(after)->first + std::prev(after)->second, *piece);
    }
    taken.emplace(*piece, bytes);
  }
}

}  // namespace
}  // namespace amity::fabric::shm
