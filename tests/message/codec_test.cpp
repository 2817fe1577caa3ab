/// Codecs: what is read is what was written, and what was not written is an error.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/message/codec.hpp"

namespace amity {
namespace {

struct point {
  int x, y;
  bool operator==(const point&) const = default;
};

/// A type of a user, built from the codecs of its parts.
struct article {
  std::string title;
  std::vector<int> pages;
  std::optional<std::string> note;
  bool operator==(const article&) const = default;
};

/// Its encoding is empty.
struct unit {
  std::string ignored;
  bool operator==(const unit&) const { return true; }
};

/// Trivially copyable, with a codec: one byte.
struct small {
  int value;
  bool operator==(const small&) const = default;
};
struct holder {
  point at;
  small held;
};
struct nested_holder {
  std::array<holder, 2> held;
};

/// Trivially copyable, without a default constructor.
struct dated {
  explicit dated(int d) : day(d) {}
  int day;
  bool operator==(const dated&) const = default;
};

}  // namespace

template <>
struct codec<article> {
  static std::size_t bytes(const article& value) {
    return encoded_bytes(value.title) + encoded_bytes(value.pages) + encoded_bytes(value.note);
  }
  static void write(byte_writer& to, const article& value) {
    encode(to, value.title);
    encode(to, value.pages);
    encode(to, value.note);
  }
  static article read(byte_reader& from) {
    return {decode<std::string>(from), decode<std::vector<int>>(from), decode<std::optional<std::string>>(from)};
  }
};

template <>
struct codec<small> {
  static std::size_t bytes(const small&) { return 1; }
  static void write(byte_writer& to, const small& value) { to.write_object(static_cast<std::uint8_t>(value.value)); }
  static small read(byte_reader& from) { return {from.read_object<std::uint8_t>()}; }
};

template <>
struct codec<unit> {
  static std::size_t bytes(const unit&) { return 0; }
  static void write(byte_writer&, const unit&) {}
  static unit read(byte_reader&) { return {}; }
};

namespace {

template <class T>
std::vector<std::byte> encoded(const T& value) {
  std::vector<std::byte> bytes(encoded_bytes(value));
  byte_writer to(bytes);
  encode(to, value);
  to.finish();
  return bytes;
}

template <class T>
T decoded(bytes_view bytes) {
  byte_reader from(bytes);
  T value = decode<T>(from);
  from.finish();
  return value;
}

/// The value comes back, and each shorter input is refused.
template <class T>
void check(const T& value) {
  const std::vector<std::byte> bytes = encoded(value);
  EXPECT_EQ(decoded<T>(bytes), value);
  for (std::size_t shorter = 0; shorter < bytes.size(); ++shorter) {
    // On the heap, so that a sanitizer sees the first byte that is read too much.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(shorter));
    EXPECT_THROW(decoded<T>(cut), error) << shorter << " of " << bytes.size() << " bytes";
  }
}

TEST(codec, plain_values) {
  check(7);
  check(1.5);
  check(true);
  check(point{1, -2});
  check(dated(3));
  check(std::array<int, 3>{1, 2, 3});
  check(std::optional<int>(4));
  EXPECT_EQ(encoded(point{1, 2}).size(), sizeof(point));
}

TEST(codec, strings_and_vectors) {
  check(std::string());
  check(std::string("text"));
  check(std::string("with\0zero", 9));
  check(std::string(1000, 'x'));
  check(std::vector<int>{});
  check(std::vector<int>{1, 2, 3});
  check(std::vector<point>{{1, 2}, {3, 4}});
  check(std::vector<std::string>{"a", "", "ccc"});
  check(std::vector<std::vector<int>>{{}, {1}, {2, 3}});
  check(std::vector<dated>{dated(1), dated(2)});
  check(std::vector<bool>{});
  check(std::vector<bool>{true, false, true, true});
  check(std::vector<std::vector<bool>>{{true}, {}, {false, true}});
}

TEST(codec, pairs_tuples_arrays_and_optionals) {
  check(std::pair<int, int>(1, 2));
  check(std::pair<std::string, int>("one", 1));
  check(std::tuple<>());
  check(std::tuple<int, std::string, double>(1, "two", 3.0));
  check(std::tuple<std::tuple<std::string>>(std::tuple<std::string>("inner")));
  check(std::array<std::string, 2>{"first", "second"});
  check(std::array<std::string, 0>{});
  check(std::optional<std::string>());
  check(std::optional<std::string>("there"));
  check(std::optional<std::optional<std::string>>(std::optional<std::string>()));
}

TEST(codec, types_of_the_user) {
  check(article{"Active messages", {1, 2, 3}, "read twice"});
  check(article{});
  check(std::vector<article>{{"a", {1}, std::nullopt}, {"b", {}, ""}});
  check(std::pair<article, point>({"a", {}, {}}, {1, 2}));
}

TEST(codec, trivially_copyable_type_uses_its_codec) {
  const auto check_bytes = [](const auto& value, std::size_t bytes) {
    check(value);
    EXPECT_EQ(encoded(value).size(), bytes);
  };
  check_bytes(small{5}, 1);
  check_bytes(std::vector<small>{{1}, {2}, {3}}, sizeof(std::uint64_t) + 3);
  check_bytes(std::array<small, 2>{{{1}, {2}}}, 2);
  check_bytes(std::array<std::array<small, 2>, 2>{}, 4);
  check_bytes(std::optional<small>(small{1}), 2);
  check_bytes(std::pair<small, int>({1}, 2), 1 + sizeof(int));
  check_bytes(std::tuple<small, small, char>({1}, {2}, 'x'), 3);
  static_assert(detail::plain<point> && detail::plain<std::array<point, 2>> && detail::plain<std::optional<int>>);
  static_assert(!detail::plain<small> && !detail::plain<std::array<small, 2>> && !detail::plain<std::optional<small>>);
  // A copy of these would not use the codec.
  static_assert(!encodable<holder> && !encodable<nested_holder> && !encodable<std::optional<holder>>);
  static_assert(!encodable<std::vector<holder>> && !encodable<std::variant<int, small>>);
  static_assert(!encodable<std::variant<int, holder>> && encodable<std::variant<int, point>>);
}

TEST(codec, empty_encodings) {
  check(unit{});
  check(std::pair<unit, unit>());
  EXPECT_EQ(encoded(unit{}).size(), 0u);
  EXPECT_EQ(decoded<std::vector<unit>>(encoded(std::vector<unit>(5))).size(), 5u);
}

TEST(codec, members_are_read_in_the_order_in_which_they_were_written) {
  const auto bytes = encoded(std::tuple<std::string, std::uint8_t, std::uint8_t>("", std::uint8_t{1}, std::uint8_t{2}));
  EXPECT_EQ(std::to_integer<int>(bytes[8]), 1);
  EXPECT_EQ(std::to_integer<int>(bytes[9]), 2);
}

TEST(codec, what_refers_to_something_else_cannot_be_sent) {
  static_assert(encodable<int> && encodable<point> && encodable<article> && encodable<std::vector<bool>>);
  static_assert(!encodable<int*> && !encodable<const char*> && !encodable<void (*)()>);
  static_assert(!encodable<int (article::*)()>);
  static_assert(!encodable<std::string_view> && !encodable<std::span<int>> && !encodable<std::span<int, 3>>);
  static_assert(!encodable<std::reference_wrapper<int>> && !encodable<std::initializer_list<int>>);
  static_assert(!encodable<std::vector<int*>> && !encodable<std::array<int*, 2>> && !encodable<std::optional<int*>>);
  static_assert(!encodable<std::pair<int, std::string_view>> && !encodable<std::function<void()>>);
}

// Random values of a type with every codec in it.
using anything = std::vector<std::tuple<std::string, std::optional<std::vector<article>>, std::vector<bool>,
                                        std::array<std::pair<std::uint64_t, std::string>, 2>, dated>>;

class random_values {
 public:
  explicit random_values(std::uint64_t seed) : random_(seed) {}

  anything value() {
    anything result;
    for (auto left = random_.below(5); left > 0; --left) {
      result.emplace_back(text(), std::nullopt, flags(), decltype(pairs())(pairs()), dated(number()));
      if (random_.below(2) == 0) std::get<1>(result.back()) = articles();
    }
    return result;
  }

 private:
  int number() { return static_cast<int>(random_()); }
  std::string text() {
    std::string result(random_.below(20), ' ');
    for (char& c : result) c = static_cast<char>(random_());
    return result;
  }
  std::vector<bool> flags() {
    std::vector<bool> result(random_.below(20));
    for (auto flag : result) flag = random_.below(2) == 0;
    return result;
  }
  std::array<std::pair<std::uint64_t, std::string>, 2> pairs() { return {{{random_(), text()}, {random_(), text()}}}; }
  std::vector<article> articles() {
    std::vector<article> result(random_.below(4));
    for (article& each : result) {
      each.title = text();
      each.pages.assign(random_.below(6), number());
      if (random_.below(2) == 0) each.note = text();
    }
    return result;
  }

  splitmix64 random_;
};

TEST(codec, random_values_come_back) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    check(random_values(seed).value());
  }
}

// Whatever arrives, reading ends: with a value or an error, and never outside of the bytes.
TEST(codec, damaged_bytes_are_survived) {
  splitmix64 random(1);
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    auto bytes = encoded(random_values(seed).value());
    for (int i = 0; i < 3; ++i) bytes[random.below(bytes.size())] = static_cast<std::byte>(random());
    try {
      static_cast<void>(decoded<anything>(bytes));
    } catch (const error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(codec, counts_that_overflow_are_refused) {
  for (const std::uint64_t count : {~std::uint64_t{0}, std::uint64_t{1} << 61, (std::uint64_t{1} << 61) + 1}) {
    const auto bytes = encoded(std::pair<std::uint64_t, std::uint64_t>(count, 0));
    EXPECT_THROW(decoded<std::vector<std::uint64_t>>(bytes), error);
    EXPECT_THROW(decoded<std::vector<dated>>(bytes), error);
    EXPECT_THROW(decoded<std::vector<std::string>>(bytes), error);
    EXPECT_THROW(decoded<std::vector<bool>>(bytes), error);
    EXPECT_THROW(decoded<std::string>(bytes), error);
  }
}

}  // namespace
}  // namespace amity
