#include "amity/base/copy_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace amity {
namespace {

std::vector<std::byte> different_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t state = 1;
  for (std::byte& each : bytes) each = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

/// Copies between all places that differ in their alignment, and returns whether exactly `bytes` bytes were copied.
template <class Copy>
bool copies_exactly(std::size_t bytes, Copy copy) {
  constexpr std::size_t places[] = {0, 1, 8, 16, 31, 32, 48};
  const auto source = different_bytes(bytes + 64);
  for (const std::size_t from : places) {
    for (const std::size_t to : places) {
      std::vector<std::byte> target(bytes + 64, std::byte{9});
      copy(target.data() + to, source.data() + from, bytes);
      std::vector<std::byte> expected(bytes + 64, std::byte{9});
      std::copy_n(source.data() + from, bytes, expected.data() + to);
      if (target != expected) return false;
    }
  }
  return true;
}

TEST(copy_bytes, copies_all_and_nothing_else) {
  constexpr std::size_t block = detail::block_bytes_min, large = std::size_t{320} << 10;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, block - 1, block, block + 1,
                                  block + 31, block + 32, block + 127, block + 128, large - 1, large, large + 77})
    EXPECT_TRUE(copies_exactly(bytes, copy_bytes)) << bytes;
}

TEST(copy_bytes, pieces_copy_all_and_nothing_else) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  for (const std::size_t bytes : {std::size_t{1}, piece - 1, piece, piece + 1, 2 * piece, 5 * piece + 77})
    EXPECT_TRUE(copies_exactly(bytes, detail::copy_in_pieces)) << bytes;
}

TEST(copy_bytes, takes_null_where_there_is_nothing) { copy_bytes(nullptr, nullptr, 0); }

}  // namespace
}  // namespace amity
