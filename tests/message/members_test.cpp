/// Which aggregates can be sent: those whose members mean the same on every rank.

#include <array>
#include <cstddef>
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

#include "amity/message/codec.hpp"

namespace amity {
namespace {

template <class... Ts>
inline constexpr bool all_sent = (encodable<Ts> && ...);
template <class... Ts>
inline constexpr bool none_sent = (!encodable<Ts> && ...);

enum class color { red };
struct numbers {
  int n;
  double x;
};
struct named {
  int id;
  const char* name;
};
struct nested_name {
  numbers first;
  named second;
};
struct array_of_names {
  int counts[3];
  const char* names[2];
};
struct array_of_named {
  int count;
  named all[2][2];
};
struct standard_array_of_names {
  std::array<const char*, 2> names;
};
struct optional_name {
  std::optional<const char*> name;
};
struct variant_name {
  std::variant<int, const char*> name;
};
struct view {
  std::string_view text;
  int n;
};
struct spanning {
  int n;
  std::span<const int> all;
};
struct wrapping {
  std::reference_wrapper<int> target;
};
struct calling {
  void (*function)(int);
};
struct calling_member {
  int (numbers::*function)();
};
struct referring {
  int n;
  int& target;
};
struct referring_to_const {
  int n;
  const numbers& target;
  int m;
};
struct with_bits_and_pointer {
  unsigned low : 3;
  void* target;
  bool flag : 1;
};
struct pointer_in_base : named {
  int n;
};
struct pointer_behind_base : numbers {
  char* target;
};
struct constant_pointer {
  int n;
  const numbers* const target;
};
struct pointer_behind_optional {
  std::optional<int> n;
  std::variant<int, double> m;
  char* target;
};
struct optional_view {
  int n;
  std::optional<std::string_view> text;
};
struct pointer_before_many {
  char* target;
  char many[200];
};

static_assert(none_sent<named, nested_name, array_of_names, array_of_named, standard_array_of_names, optional_name,
                        variant_name, view, spanning, wrapping, calling, calling_member, referring, referring_to_const,
                        with_bits_and_pointer, pointer_in_base, pointer_behind_base, constant_pointer,
                        pointer_behind_optional, optional_view, pointer_before_many>);
static_assert(none_sent<std::vector<named>, std::pair<int, named>, std::tuple<int, named>, std::array<named, 2>,
                        std::optional<named>, std::variant<int, named>, std::variant<int, char*>,
                        std::vector<std::pair<std::string, view>>>);

struct arrays {
  int a[3];
  numbers b[2][3];
  std::array<numbers, 2> c;
  char text[8];
};
struct bits {
  unsigned low : 3;
  int middle : 4;
  bool high : 1;
};
struct derived : numbers {
  int m;
};
struct constants {
  const int n;
  const double x;
};
struct nothing {};
struct with_nothing {
  nothing first;
  int n;
};
struct kinds {
  color c;
  bool b;
  char16_t d;
  long double e;
  std::byte f;
};
struct defaults {
  int n = 3;
  numbers m = {1, 2};
};
struct data_member {
  double numbers::*offset;
};
union either {
  double x;
  std::uint64_t n;
};
struct with_unions {
  int n;
  either first;
  union {
    double x;
    std::uint64_t m;
  };
  int last;
};
class made {
 public:
  explicit made(int n) : n_(n) {}
  int n() const { return n_; }

 private:
  int n_;
};
struct with_made {
  made first;
  int n;
};
struct from_anything {
  template <class U>
  from_anything(const U&) {}
  int n = 0;
};
struct with_from_anything {
  from_anything first;
  int n;
};
struct moved_only {
  moved_only() = default;
  moved_only(moved_only&&) = default;
  moved_only(const moved_only&) = delete;
  int n = 0;
};
struct with_moved_only {
  moved_only first;
  int n;
};
struct alignas(64) aligned {
  std::byte data[32];
  std::uint32_t n;
};
struct many {
  char text[200];
  int n;
};
struct optionals {
  std::optional<int> n;
  std::variant<int, double> m;
};

static_assert(
    all_sent<numbers, arrays, bits, derived, constants, nothing, with_nothing, kinds, defaults, data_member, either,
             with_unions, made, with_made, with_from_anything, with_moved_only, aligned, many, optionals>);
static_assert(all_sent<std::vector<numbers>, std::pair<int, arrays>, std::variant<int, numbers>, std::optional<many>>);

/// A codec says what a pointer stands for.
struct linked {
  int n;
  const linked* next;
};

}  // namespace

template <>
struct codec<linked> {
  static std::size_t bytes(const linked&) { return sizeof(int); }
  static void write(byte_writer& to, const linked& value) { to.write_object(value.n); }
  static linked read(byte_reader& from) { return {from.read_object<int>(), nullptr}; }
};

namespace {

static_assert(all_sent<linked, std::vector<linked>, std::pair<linked, std::string>>);

// What the check cannot see; docs/contracts/message.md lists it.
struct pointer_behind_many {
  char many[64];
  char* target;
};
union either_or_pointer {
  double x;
  const char* target;
};
class private_pointer {
 public:
  const char* get() const { return target_; }

 private:
  const char* target_ = nullptr;
};
static_assert(all_sent<pointer_behind_many, either_or_pointer, private_pointer>);

TEST(member_check, codec_of_user_is_used_for_pointers) {
  const linked first{1, nullptr};
  std::byte bytes[sizeof(int)];
  ASSERT_EQ(encoded_bytes(linked{2, &first}), sizeof bytes);
  byte_writer to(bytes);
  encode(to, linked{2, &first});
  byte_reader from(bytes);
  const auto read = decode<linked>(from);
  EXPECT_EQ(read.n, 2);
  EXPECT_EQ(read.next, nullptr);
}

}  // namespace
}  // namespace amity
