/// Values that are encoded and decoded piece by piece, whatever the sizes of the pieces.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/message/value_stream.hpp"

namespace amity {
namespace {

/// Has a codec of its own: travels as a block.
struct labeled {
  std::string label;
  std::vector<int> numbers;
  bool operator==(const labeled&) const = default;
};

/// Cannot be constructed without a value.
struct marked {
  explicit marked(int given) : value(given) {}
  int value;
  bool operator==(const marked&) const = default;
};

/// Travels as a block of no bytes.
struct empty_block {
  std::vector<int> ignored;
  bool operator==(const empty_block&) const { return true; }
};

}  // namespace

template <>
struct codec<labeled> {
  static std::size_t bytes(const labeled& value) { return encoded_bytes(value.label) + encoded_bytes(value.numbers); }
  static void write(byte_writer& to, const labeled& value) {
    encode(to, value.label);
    encode(to, value.numbers);
  }
  static labeled read(byte_reader& from) { return {decode<std::string>(from), decode<std::vector<int>>(from)}; }
};

template <>
struct codec<empty_block> {
  static std::size_t bytes(const empty_block&) { return 0; }
  static void write(byte_writer&, const empty_block&) {}
  static empty_block read(byte_reader&) { return {}; }
};

namespace {

using detail::encoder_stream;
using detail::piece_decoder;
using detail::stream_decoder;
using detail::stream_encoder;
using detail::streamed_bytes;

constexpr bytes_of whose{.type = "test", .rank = 3};

template <class T>
std::vector<std::byte> pieces_of(const T& value, std::size_t piece_bytes) {
  encoder_stream pieces(stream_encoder<T>(value), whose);
  std::vector<std::byte> all(static_cast<std::size_t>(streamed_bytes(value)));
  for (std::size_t at = 0; at < all.size(); at += piece_bytes) {
    const std::size_t expected = std::min(piece_bytes, all.size() - at);
    EXPECT_EQ(pieces.produce(std::span(all).subspan(at, expected)), expected);
  }
  std::byte more{};
  EXPECT_EQ(pieces.produce({&more, 1}), 0u) << "it produced less than its size";
  return all;
}

template <class T>
T value_of(std::span<const std::byte> all, std::size_t piece_bytes) {
  piece_decoder<stream_decoder<T>> pieces;
  for (std::size_t at = 0; at < all.size(); at += piece_bytes) {
    // A copy ends where its memory ends, which a sanitizer watches.
    const auto piece = all.subspan(at, std::min(piece_bytes, all.size() - at));
    const std::vector<std::byte> copy(piece.begin(), piece.end());
    pieces.consume(copy, all.size() - at - piece.size(), whose);
  }
  return pieces.decoder().take();
}

template <class T>
void expect_round_trips(const T& value) {
  const std::vector<std::byte> all = pieces_of(value, 1'000'000);
  for (const std::size_t piece_bytes : {1u, 2u, 3u, 7u, 8u, 9u, 16u, 61u, 1000u}) {
    EXPECT_EQ(pieces_of(value, piece_bytes), all) << piece_bytes;
    EXPECT_EQ(value_of<T>(all, piece_bytes), value) << piece_bytes;
  }
  EXPECT_EQ(value_of<T>(all, all.size()), value);
  if constexpr (detail::streams_as_encoded<T>()) {
    std::vector<std::byte> encoded(encoded_bytes(value));
    byte_writer to(encoded);
    encode(to, value);
    EXPECT_EQ(all, encoded);
  }
}

template <class T>
std::string failure_of_decoding(std::span<const std::byte> all, std::size_t piece_bytes = 16) {
  try {
    static_cast<void>(value_of<T>(all, piece_bytes));
  } catch (const error& thrown) {
    return thrown.what();
  }
  return {};
}

std::vector<std::byte> with_count(std::uint64_t count, std::size_t bytes_after) {
  std::vector<std::byte> all(sizeof count + bytes_after);
  std::memcpy(all.data(), &count, sizeof count);
  return all;
}

TEST(stream_codec, trivially_copyable_values_round_trip) {
  expect_round_trips(std::uint64_t{0x123456789abcdef});
  expect_round_trips(std::array<char, 5>{'a', 'b', 'c', 'd', 'e'});
  expect_round_trips(true);
}

TEST(stream_codec, sequences_round_trip) {
  expect_round_trips(std::string());
  expect_round_trips(std::string(300, 'x') + "end");
  expect_round_trips(std::vector<double>{1, 2, 3.5, 4, 5, 6, 7, 8});
  expect_round_trips(std::vector<bool>{true, false, true, true});
  expect_round_trips(std::vector<marked>{marked(1), marked(2), marked(3)});
  expect_round_trips(std::vector<std::vector<std::string>>{{"a", "", "abc"}, {}, {std::string(100, 'b')}});
  expect_round_trips(std::vector<std::vector<std::array<char, 3>>>{{{'a', 'b', 'c'}, {'d', 'e', 'f'}}, {}});
}

TEST(stream_codec, products_and_optionals_round_trip) {
  expect_round_trips(std::pair<int, std::string>(4, "four"));
  expect_round_trips(std::tuple<std::vector<int>, bool, std::pair<std::string, char>>({1, 2}, true, {"x", 'y'}));
  expect_round_trips(std::array<std::string, 3>{"one", "", "three"});
  expect_round_trips(std::optional<std::string>());
  expect_round_trips(std::optional<std::vector<int>>(std::in_place, 20, 7));
  expect_round_trips(std::vector<std::optional<std::string>>{{}, "a", {}, "bc"});
  expect_round_trips(std::vector<std::array<std::string, 0>>(3));
  std::array<std::string, 1500> many;  // more than templates may nest
  many.front() = "first";
  many.back() = "last";
  expect_round_trips(many);
}

TEST(stream_codec, blocks_of_user_codecs_round_trip) {
  expect_round_trips(labeled{"label", {1, 2, 3, 4}});
  expect_round_trips(empty_block{});
  expect_round_trips(std::vector<empty_block>(5));
  expect_round_trips(std::vector<labeled>{{"a", {}}, {std::string(90, 'b'), std::vector<int>(50, 6)}, {}});
  expect_round_trips(std::tuple<int, labeled, std::optional<labeled>>(1, {"x", {2}}, labeled{"y", {3}}));
}

TEST(stream_codec, bool_of_any_byte_is_bool) {
  auto all = with_count(2, 2);
  all[8] = std::byte{2};
  EXPECT_EQ(value_of<std::vector<bool>>(all, 3), (std::vector<bool>{true, false}));
}

TEST(stream_codec, count_beyond_message_fails) {
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  const std::string remedy = "; let codec<T>::read take exactly what codec<T>::write wrote";
  const std::string beginning = "amity: reading a message of type 'test' (rank 3): ";
  EXPECT_EQ(failure_of_decoding<std::string>(with_count(huge, 5)),
            beginning + "1152921504606846976 bytes exceed the 5 bytes that are left" + remedy);
  EXPECT_EQ(failure_of_decoding<std::vector<double>>(with_count(3, 23)),
            beginning + "3 items of 8 bytes exceed the 23 bytes that are left" + remedy);
  EXPECT_NE(failure_of_decoding<std::vector<double>>(with_count(~std::uint64_t{0}, 23)), "");
  EXPECT_NE(failure_of_decoding<std::vector<std::string>>(with_count(huge, 100)), "");
  EXPECT_NE(failure_of_decoding<std::vector<labeled>>(with_count(huge, 100)), "");
  EXPECT_NE(failure_of_decoding<labeled>(with_count(huge, 100)), "");
  EXPECT_NE((failure_of_decoding<std::vector<std::optional<int>>>(with_count(huge, 100))), "");
}

TEST(stream_codec, bytes_left_fail) {
  const std::string expected =
      "amity: reading a message of type 'test' (rank 3): 2 bytes were not read; let codec<T>::read take exactly what "
      "codec<T>::write wrote";
  EXPECT_EQ(failure_of_decoding<std::string>(with_count(3, 5)), expected);
  EXPECT_EQ(failure_of_decoding<std::string>(with_count(3, 5), 11), expected);
  EXPECT_EQ(failure_of_decoding<int>(std::vector<std::byte>(6)), expected);
}

TEST(stream_codec, truncated_message_fails) {
  EXPECT_NE(failure_of_decoding<std::string>(std::vector<std::byte>(7)), "");
  const auto all = pieces_of(std::vector<std::string>{"abc", "defgh"}, 8);
  EXPECT_NE(failure_of_decoding<std::vector<std::string>>(std::span(all).first(all.size() - 1)), "");
}

}  // namespace
}  // namespace amity
