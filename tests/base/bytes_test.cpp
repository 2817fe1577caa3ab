#include "amity/base/bytes.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/errors.hpp"

namespace amity {
namespace {

using testing::error_of;

/// Neither default constructed nor copied.
struct fixed {
  explicit fixed(int v) : value(v) {}
  fixed(fixed&&) = default;
  fixed& operator=(fixed&&) = default;
  int value;
};
static_assert(std::is_trivially_copyable_v<fixed> && !std::is_default_constructible_v<fixed> &&
              !std::is_copy_constructible_v<fixed>);

TEST(bytes, what_was_written_is_read) {
  std::array<std::byte, 1 + 8 + 3 + 4> storage;
  byte_writer to(storage);
  to.write_object('a');
  to.write_object(std::uint64_t{1} << 63);
  to.write_bytes("xyz", 3);
  to.write_bytes(nullptr, 0);
  to.write_object(fixed(7));
  to.finish();

  byte_reader from(storage);
  EXPECT_EQ(from.read_object<char>(), 'a');
  EXPECT_EQ(from.read_object<std::uint64_t>(), std::uint64_t{1} << 63);
  EXPECT_EQ(std::to_integer<char>(from.read_bytes(3)[2]), 'z');
  EXPECT_TRUE(from.read_bytes(0).empty());
  EXPECT_EQ(from.read_object<fixed>().value, 7);
  from.finish();
}

TEST(bytes, reading_past_the_end_is_an_error_and_takes_nothing) {
  const std::vector<std::byte> storage(7);
  byte_reader from(storage);
  EXPECT_EQ(error_of([&] { from.read_object<std::uint64_t>(); }),
            "amity: reading a message: 8 bytes exceed the 7 bytes that are left; "
            "let codec<T>::read take exactly what codec<T>::write wrote");
  EXPECT_EQ(from.read_bytes(7).size(), 7u);
  EXPECT_THROW(from.read_bytes(1), error);
  EXPECT_THROW(from.read_bytes(std::numeric_limits<std::size_t>::max()), error);
}

TEST(bytes, no_number_of_items_overflows) {
  const std::vector<std::byte> storage(24);
  byte_reader from(storage);
  for (const std::size_t count : {std::size_t{4}, std::size_t{1} << 61, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_EQ(error_of([&] { from.read_items(count, 8); }),
              "amity: reading a message: " + std::to_string(count) +
                  " items of 8 bytes exceed the 24 bytes that are left; "
                  "let codec<T>::read take exactly what codec<T>::write wrote");
  }
  EXPECT_EQ(from.read_items(3, 8).size(), 24u);
  EXPECT_EQ(from.read_items(0, 8).size(), 0u);
}

TEST(bytes, leaving_bytes_unread_is_an_error) {
  const std::vector<std::byte> storage(5);
  byte_reader from(storage, {.type = "article", .rank = 3});
  from.read_bytes(2);
  EXPECT_EQ(error_of([&] { from.finish(); }),
            "amity: reading a message of type 'article' (rank 3): 3 bytes were not read; "
            "let codec<T>::read take exactly what codec<T>::write wrote");
}

TEST(bytes, writing_past_the_end_is_an_error_and_writes_nothing) {
  std::vector<std::byte> storage(7);
  byte_writer to(storage, {.type = "article", .rank = 3});
  EXPECT_EQ(error_of([&] { to.write_object(~std::uint64_t{0}); }),
            "amity: writing a message of type 'article' (rank 3): 8 bytes were to be written, there is room for 7; "
            "let codec<T>::bytes return exactly what codec<T>::write writes");
  EXPECT_EQ(storage, std::vector<std::byte>(7));
  EXPECT_EQ(error_of([&] { to.finish(); }),
            "amity: writing a message of type 'article' (rank 3): 7 bytes were not written; "
            "let codec<T>::bytes return exactly what codec<T>::write writes");
}

}  // namespace
}  // namespace amity
