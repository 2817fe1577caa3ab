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

TEST(copy_bytes, copies_all_and_nothing_else) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, piece - 1, piece, piece + 1, 2 * piece, 5 * piece + 77}) {
    const auto source = different_bytes(bytes + 1);
    std::vector<std::byte> target(bytes + 2, std::byte{9});
    copy_bytes(target.data() + 1, source.data() + 1, bytes);
    auto expected = std::vector<std::byte>(bytes + 2, std::byte{9});
    std::copy(source.begin() + 1, source.end(), expected.begin() + 1);
    EXPECT_EQ(target, expected) << bytes;
  }
}

TEST(copy_bytes, takes_null_where_there_is_nothing) { copy_bytes(nullptr, nullptr, 0); }

}  // namespace
}  // namespace amity
