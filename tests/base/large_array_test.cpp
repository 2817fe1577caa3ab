#include "amity/base/large_array.hpp"

#include <cstdint>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace amity {
namespace {

TEST(large_array, begins_on_a_large_page_once_it_is_large) {
  constexpr std::size_t page_bytes = large_page_allocator<std::uint64_t>::page_bytes;
  const large_array<std::uint64_t> large(page_bytes / sizeof(std::uint64_t));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % page_bytes, 0u);
}

TEST(large_array, keeps_its_values_when_it_becomes_large) {
  large_array<std::uint64_t> grown;
  for (std::uint64_t i = 0; i < 300'000; ++i) grown.push_back(i);
  const large_array<std::uint64_t> moved = std::move(grown);
  EXPECT_EQ(std::accumulate(moved.begin(), moved.end(), std::uint64_t{0}), 300'000ull * 299'999 / 2);
}

}  // namespace
}  // namespace amity
