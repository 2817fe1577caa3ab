/// Each reduction on each type of element, and that those of several threads on one element are atomic.

#include "amity/window/accumulate.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace amity {
namespace {

using op = accumulate_op;

/// What becomes of an element. Operand and result lie at odd addresses.
template <class T>
T combined(op what, T there, T operand) {
  const accumulate_function act = find_accumulate(what, element_type_of<T>);
  if (act == nullptr) {
    ADD_FAILURE() << name_of(what) << " is not defined on " << layout_of(element_type_of<T>).name;
    return T{};
  }
  alignas(16) std::array<std::byte, 3 * sizeof(T)> place;
  place.fill(std::byte{0x5a});
  std::vector<std::byte> operands(sizeof(T) + 1), previous(sizeof(T) + 2, std::byte{0x5a});
  std::memcpy(place.data() + sizeof(T), &there, sizeof(T));
  std::memcpy(operands.data() + 1, &operand, sizeof(T));
  act(place.data() + sizeof(T), operands.data() + 1, previous.data() + 1, 1);
  T before, after;
  std::memcpy(&before, previous.data() + 1, sizeof(T));
  std::memcpy(&after, place.data() + sizeof(T), sizeof(T));
  EXPECT_TRUE(before == there) << name_of(what);
  const auto is_untouched = [](std::byte each) { return each == std::byte{0x5a}; };
  EXPECT_TRUE(std::all_of(place.begin(), place.begin() + sizeof(T), is_untouched));
  EXPECT_TRUE(std::all_of(place.begin() + 2 * sizeof(T), place.end(), is_untouched));
  EXPECT_TRUE(is_untouched(previous.front()) && is_untouched(previous.back()));
  // Without a result it does the same.
  std::memcpy(place.data() + sizeof(T), &there, sizeof(T));
  act(place.data() + sizeof(T), operands.data() + 1, nullptr, 1);
  T again;  // padding bytes may differ
  std::memcpy(&again, place.data() + sizeof(T), sizeof(T));
  EXPECT_TRUE(again == after) << name_of(what);
  return after;
}

template <class T>
class accumulate_integers : public ::testing::Test {};
using integers = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                  std::uint32_t, std::uint64_t, long long, unsigned long long, char>;
TYPED_TEST_SUITE(accumulate_integers, integers);

TYPED_TEST(accumulate_integers, results) {
  using T = TypeParam;
  const T seven = 7, three = 3, zero = 0, one = 1;
  EXPECT_EQ(combined(op::sum, seven, three), T{10});
  EXPECT_EQ(combined(op::product, seven, three), T{21});
  EXPECT_EQ(combined(op::minimum, seven, three), three);
  EXPECT_EQ(combined(op::maximum, three, seven), seven);
  EXPECT_EQ(combined(op::logical_and, seven, three), one);
  EXPECT_EQ(combined(op::logical_and, seven, zero), zero);
  EXPECT_EQ(combined(op::logical_or, zero, three), one);
  EXPECT_EQ(combined(op::logical_or, zero, zero), zero);
  EXPECT_EQ(combined(op::logical_xor, seven, three), zero);
  EXPECT_EQ(combined(op::logical_xor, zero, three), one);
  EXPECT_EQ(combined(op::bit_and, seven, three), three);
  EXPECT_EQ(combined(op::bit_or, T{4}, three), seven);
  EXPECT_EQ(combined(op::bit_xor, seven, three), T{4});
  EXPECT_EQ(combined(op::replace, seven, three), three);
  EXPECT_EQ(combined(op::no_op, seven, three), seven);
  using limits = std::numeric_limits<T>;
  EXPECT_EQ(combined(op::sum, limits::max(), one), limits::min());
  EXPECT_EQ(combined(op::product, limits::max(), T{2}), static_cast<T>(-2));
  EXPECT_EQ(combined(op::minimum, limits::min(), limits::max()), limits::min());
}

template <class T>
class accumulate_reals : public ::testing::Test {};
using reals = ::testing::Types<float, double, long double>;
TYPED_TEST_SUITE(accumulate_reals, reals);

TYPED_TEST(accumulate_reals, results) {
  using T = TypeParam;
  EXPECT_EQ(combined(op::sum, T{1.5}, T{2.25}), T{3.75});
  EXPECT_EQ(combined(op::product, T{1.5}, T{-2}), T{-3});
  EXPECT_EQ(combined(op::minimum, T{1.5}, T{-2}), T{-2});
  EXPECT_EQ(combined(op::maximum, T{1.5}, T{-2}), T{1.5});
  EXPECT_EQ(combined(op::replace, T{1.5}, T{-2}), T{-2});
  EXPECT_EQ(combined(op::no_op, T{1.5}, T{-2}), T{1.5});
  using number = std::complex<T>;
  EXPECT_EQ(combined(op::sum, number(1, 2), number(3, -5)), number(4, -3));
  EXPECT_EQ(combined(op::product, number(1, 2), number(3, -5)), number(13, 1));
  EXPECT_EQ(combined(op::replace, number(1, 2), number(3, -5)), number(3, -5));
}

template <class Pair>
class accumulate_pairs : public ::testing::Test {};
using pairs = ::testing::Types<value_location<float, int>, value_location<double, int>, value_location<long, int>,
                               value_location<int, int>, value_location<short, int>, value_location<long double, int>,
                               value_location<float, float>, value_location<double, double>>;
TYPED_TEST_SUITE(accumulate_pairs, pairs);

TYPED_TEST(accumulate_pairs, smaller_location_of_equal_values) {
  using pair = TypeParam;
  // Padding is compared, too.
  const auto make = [](int value, int location) {
    pair made;
    std::memset(static_cast<void*>(&made), 0, sizeof made);
    made.value = static_cast<decltype(made.value)>(value);
    made.location = static_cast<decltype(made.location)>(location);
    return made;
  };
  EXPECT_EQ(combined(op::minimum_location, make(5, 1), make(4, 9)), make(4, 9));
  EXPECT_EQ(combined(op::minimum_location, make(4, 9), make(5, 1)), make(4, 9));
  EXPECT_EQ(combined(op::minimum_location, make(4, 9), make(4, 2)), make(4, 2));
  EXPECT_EQ(combined(op::maximum_location, make(5, 3), make(6, 9)), make(6, 9));
  EXPECT_EQ(combined(op::maximum_location, make(6, 9), make(5, 3)), make(6, 9));
  EXPECT_EQ(combined(op::maximum_location, make(6, 2), make(6, 9)), make(6, 2));
  EXPECT_EQ(combined(op::replace, make(6, 2), make(1, 9)), make(1, 9));
  EXPECT_EQ(combined(op::no_op, make(6, 2), make(1, 9)), make(6, 2));
}

/// The bytes that an operation changes in an element of ones: the others are padding.
template <class T>
std::string changed_bytes(op what, T operand) {
  std::array<std::byte, sizeof(T)> there, operands;
  there.fill(std::byte{0xff});
  operands.fill(std::byte{0x5a});
  // The padding of the operand has other bytes than the window.
  if constexpr (requires { operand.value; }) {
    std::memcpy(operands.data(), &operand.value, sizeof operand.value);
    std::memcpy(operands.data() + offsetof(T, location), &operand.location, sizeof operand.location);
  } else {
    std::memcpy(operands.data(), &operand, sizeof operand);
  }
  find_accumulate(what, element_type_of<T>)(there.data(), operands.data(), nullptr, 1);
  std::string changed;
  for (const std::byte each : there) changed += each == std::byte{0xff} ? '-' : 'x';
  return changed;
}

TEST(accumulate, padding_of_window_stays) {
  EXPECT_EQ((changed_bytes(op::replace, value_location<short, int>{1, 2})), "xx--xxxx");
  EXPECT_EQ((changed_bytes(op::replace, value_location<double, int>{1, 2})), "xxxxxxxxxxxx----");
  EXPECT_EQ((changed_bytes(op::maximum_location, value_location<short, int>{1, 2})), "xx--xxxx");
  EXPECT_EQ((changed_bytes(op::maximum_location, value_location<long, int>{1, 2})), "xxxxxxxxxxxx----");
  if constexpr (std::numeric_limits<long double>::digits == 64 && sizeof(long double) == 16) {
    EXPECT_EQ(changed_bytes(op::replace, 2.0L), "xxxxxxxxxx------");
    EXPECT_EQ(changed_bytes(op::replace, std::complex<long double>(2, 3)), "xxxxxxxxxx------xxxxxxxxxx------");
  }
}

TEST(accumulate, bools_are_bytes) {
  EXPECT_EQ(combined(op::logical_and, true, true), true);
  EXPECT_EQ(combined(op::logical_xor, true, true), false);
  std::byte there{0x40};  // true, though it is no bool of this compiler's
  const std::byte operand{1};
  find_accumulate(op::logical_and, element_type::boolean)(&there, &operand, nullptr, 1);
  EXPECT_EQ(there, std::byte{1});
}

// MPI-3.1, section 5.9.2: a letter for each op, in the order of the enumeration.
TEST(accumulate, undefined_ones_are_null) {
  constexpr std::string_view integer = "yyyyyyyyyy--yy", real = "yyyy--------yy", complex = "yy----------yy",
                             boolean = "----yyy-----yy", byte = "-------yyy--yy", pair = "----------yyyy";
  const auto expected = [&](element_type type) {
    if (type <= element_type::uint64) return integer;
    if (type == element_type::boolean) return boolean;
    if (type == element_type::byte) return byte;
    if (type <= element_type::long_double || type == element_type::float128) return real;
    return type <= element_type::complex128 ? complex : pair;
  };
  for (std::size_t t = 0; t < element_types; ++t) {
    const auto type = static_cast<element_type>(t);
    std::string defined;
    for (std::size_t o = 0; o < accumulate_ops; ++o)
      defined += find_accumulate(static_cast<op>(o), type) != nullptr ? 'y' : '-';
    EXPECT_EQ(defined, expected(type)) << layout_of(type).name;
  }
}

// GoogleTest does not print these numbers.
TEST(accumulate, reals_of_128_bits) {
  float128_t small = 1;  // becomes 2^-112, the least significant bit of 1
  for (int i = 0; i < 112; ++i) small /= 2;
  EXPECT_TRUE(combined(op::sum, float128_t{1}, small) - 1 == small);
  EXPECT_TRUE(combined(op::product, float128_t{1.5}, float128_t{-2}) == -3);
  EXPECT_TRUE(combined(op::minimum, float128_t{1}, 1 + small) == 1);
  EXPECT_TRUE(combined(op::maximum, float128_t{1}, 1 + small) == 1 + small);
  using number = std::complex<float128_t>;
  EXPECT_TRUE(combined(op::sum, number(1, 2), number(small, -5)) == number(1 + small, -3));
  EXPECT_TRUE(combined(op::product, number(1, 2), number(3, -5)) == number(13, 1));
}

TEST(accumulate, layouts_name_covered_types) {
  for (std::size_t t = 0; t < element_types; ++t) {
    const auto type = static_cast<element_type>(t);
    const element_layout& layout = layout_of(type);
    EXPECT_EQ(layout.is_covered, type < element_type::long_double) << layout.name;
    EXPECT_NE(layout.name, "");
  }
  EXPECT_EQ(layout_of(element_type::double_int).bytes, 16u);
  EXPECT_EQ(layout_of(element_type::complex32).alignment, 4u);
  EXPECT_EQ(name_of(op::maximum_location), "maximum_location");
}

TEST(accumulate, no_op_needs_no_operands) {
  std::uint64_t there = 9, previous = 0;
  find_accumulate(op::no_op, element_type::uint64)(reinterpret_cast<std::byte*>(&there), nullptr,
                                                   reinterpret_cast<std::byte*>(&previous), 1);
  EXPECT_EQ(previous, 9u);
}

// Several small elements are combined at once.
template <class T>
class accumulate_many : public ::testing::Test {};
using small = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::uint8_t, std::uint16_t, std::uint32_t,
                               bool, std::byte, float, double>;
TYPED_TEST_SUITE(accumulate_many, small);

TYPED_TEST(accumulate_many, equals_one_at_a_time) {
  using T = TypeParam;
  constexpr std::size_t elements = 40;
  std::minstd_rand random(1);
  const auto fill = [&](std::byte* to) {
    for (std::size_t i = 0; i < elements; ++i) {
      const auto number = random();
      if constexpr (std::floating_point<T>) {
        const T value = static_cast<T>(static_cast<int>(number % 2001) - 1000);
        std::memcpy(to + i * sizeof(T), &value, sizeof value);
      } else {
        std::memcpy(to + i * sizeof(T), &number, sizeof(T));  // all bytes are values
      }
    }
  };
  for (std::size_t what = 0; what < accumulate_ops; ++what) {
    const accumulate_function act = find_accumulate(static_cast<op>(what), element_type_of<T>);
    if (act == nullptr) continue;
    for (std::size_t first = 0; first < 8; ++first) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9}, std::size_t{32}}) {
        alignas(8) std::array<std::byte, elements * sizeof(T)> whole, single, operands, previous{}, previous_single{};
        fill(whole.data());
        fill(operands.data());
        single = whole;
        act(whole.data() + first * sizeof(T), operands.data() + sizeof(T), previous.data(), count);
        for (std::size_t i = 0; i < count; ++i) {
          act(single.data() + (first + i) * sizeof(T), operands.data() + (1 + i) * sizeof(T),
              previous_single.data() + i * sizeof(T), 1);
        }
        EXPECT_EQ(whole, single) << name_of(static_cast<op>(what)) << " of " << count << " from " << first;
        EXPECT_EQ(previous, previous_single) << name_of(static_cast<op>(what));
      }
    }
  }
}

constexpr int threads = 4, rounds = 20'000;

void on_threads(auto&& work) {
  std::vector<std::jthread> all;
  for (int thread = 0; thread < threads; ++thread) all.emplace_back([&, thread] { work(thread); });
}

template <class T>
class accumulate_atomically : public ::testing::Test {};
using covered = ::testing::Types<std::uint8_t, std::int16_t, std::uint32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(accumulate_atomically, covered);

// By an instruction, and for sums of reals by a loop.
TYPED_TEST(accumulate_atomically, sums_of_threads) {
  using T = TypeParam;
  T there = 0;
  const auto act = [&](op what, T operand) {
    find_accumulate(what, element_type_of<T>)(reinterpret_cast<std::byte*>(&there),
                                              reinterpret_cast<const std::byte*>(&operand), nullptr, 1);
  };
  on_threads([&](int) {
    for (int i = 0; i < rounds; ++i) act(op::sum, T{1});
  });
  EXPECT_EQ(there, static_cast<T>(threads * rounds));
  there = 0;
  // Each thread has bits of its own, which others' operations leave.
  if constexpr (std::integral<T>) {
    on_threads([&](int thread) {
      for (int i = 0; i <= rounds; ++i) act(op::bit_xor, static_cast<T>(1 << thread));
    });
    EXPECT_EQ(there, T{15});
  }
}

// Each value that was written is seen once: by the thread that replaced it, or at the end.
// Two threads combine all elements at once, and two one at a time.
TYPED_TEST(accumulate_atomically, many_beside_single_ones) {
  using T = TypeParam;
  alignas(8) std::array<T, 11> there{};
  std::array<T, 11> ones;
  ones.fill(T{1});
  const auto add = [&](std::size_t first, std::size_t count) {
    find_accumulate(op::sum, element_type_of<T>)(reinterpret_cast<std::byte*>(&there[first]),
                                                 reinterpret_cast<const std::byte*>(ones.data()), nullptr, count);
  };
  on_threads([&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      if (thread % 2 == 0) {
        add(1, 10);
      } else {
        for (std::size_t at = 0; at < 11; ++at) add(at, 1);
      }
    }
  });
  EXPECT_EQ(there.front(), static_cast<T>(2 * rounds));
  for (std::size_t at = 1; at < 11; ++at) EXPECT_EQ(there[at], static_cast<T>(4 * rounds)) << at;
}

TYPED_TEST(accumulate_atomically, replaced_values_come_back_once) {
  using T = TypeParam;
  T there = 0;
  std::array<std::vector<T>, threads> seen;
  on_threads([&](int thread) {
    for (int i = 1; i <= 30; ++i) {
      const T operand = static_cast<T>(thread * 30 + i);
      T before = 0;
      find_accumulate(op::replace, element_type_of<T>)(reinterpret_cast<std::byte*>(&there),
                                                       reinterpret_cast<const std::byte*>(&operand),
                                                       reinterpret_cast<std::byte*>(&before), 1);
      seen[static_cast<std::size_t>(thread)].push_back(before);
    }
  });
  std::vector<T> all{there};
  for (const auto& each : seen) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 121u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<T>(i));
}

}  // namespace
}  // namespace amity
