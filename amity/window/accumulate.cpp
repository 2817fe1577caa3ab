#include "amity/window/accumulate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

namespace amity {
namespace {

// Integers wrap: sums and products are those of the unsigned type, which is at least as wide as int's own arithmetic.
template <class T, class Act>
constexpr T apply_wrapping(T a, T b, Act act) {
  using wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
  return static_cast<T>(act(static_cast<wide>(a), static_cast<wide>(b)));
}

/// The elements on which an operation is defined.
template <accumulate_op Op, class T>
constexpr bool is_defined() {
  constexpr bool is_integer = std::integral<T> && !std::same_as<T, bool>;
  switch (Op) {
    case accumulate_op::sum:
    case accumulate_op::product:
      return is_integer || detail::is_real<T> || detail::is_complex<T>;
    case accumulate_op::minimum:
    case accumulate_op::maximum:
      return is_integer || detail::is_real<T>;
    case accumulate_op::logical_and:
    case accumulate_op::logical_or:
    case accumulate_op::logical_xor:
      return std::integral<T>;
    case accumulate_op::bit_and:
    case accumulate_op::bit_or:
    case accumulate_op::bit_xor:
      return is_integer || std::same_as<T, std::byte>;
    case accumulate_op::minimum_location:
    case accumulate_op::maximum_location:
      return detail::is_pair<T>;
    case accumulate_op::replace:
    case accumulate_op::no_op:
      return true;
  }
  return false;
}

template <accumulate_op Op, class T>
constexpr T apply(const T& there, const T& operand) {
  if constexpr (Op == accumulate_op::sum || Op == accumulate_op::product) {
    const auto act = [](auto a, auto b) { return Op == accumulate_op::sum ? a + b : a * b; };
    if constexpr (std::integral<T>) {
      return apply_wrapping(there, operand, act);
    } else {
      return act(there, operand);
    }
  } else if constexpr (Op == accumulate_op::minimum) {
    return std::min(there, operand);
  } else if constexpr (Op == accumulate_op::maximum) {
    return std::max(there, operand);
  } else if constexpr (Op == accumulate_op::logical_and) {
    return static_cast<T>(there != T{} && operand != T{});
  } else if constexpr (Op == accumulate_op::logical_or) {
    return static_cast<T>(there != T{} || operand != T{});
  } else if constexpr (Op == accumulate_op::logical_xor) {
    return static_cast<T>((there != T{}) != (operand != T{}));
  } else if constexpr (Op == accumulate_op::bit_and) {
    return static_cast<T>(there & operand);
  } else if constexpr (Op == accumulate_op::bit_or) {
    return static_cast<T>(there | operand);
  } else if constexpr (Op == accumulate_op::bit_xor) {
    return static_cast<T>(there ^ operand);
  } else if constexpr (Op == accumulate_op::minimum_location || Op == accumulate_op::maximum_location) {
    if (there.value == operand.value) return {there.value, std::min(there.location, operand.location)};
    const bool operand_wins =
        Op == accumulate_op::minimum_location ? operand.value < there.value : there.value < operand.value;
    return operand_wins ? operand : there;
  } else {
    static_assert(Op == accumulate_op::replace);
    return operand;
  }
}

/// An integer of the size of the element, which the processor exchanges.
template <std::size_t Bytes>
using word_of = std::tuple_element_t<(Bytes >= 2) + (Bytes >= 4) + (Bytes >= 8),
                                     std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;

template <class T>
T read(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <accumulate_op Op, class T>
T apply_covered(std::byte* there, const std::byte* operand) noexcept {
  using word = word_of<sizeof(T)>;
  const std::atomic_ref<word> at(*reinterpret_cast<word*>(there));
  if constexpr (Op == accumulate_op::no_op) {
    return std::bit_cast<T>(at.load());
  } else if constexpr (Op == accumulate_op::replace) {
    return std::bit_cast<T>(at.exchange(read<word>(operand)));
  } else if constexpr (Op == accumulate_op::sum && std::integral<T>) {
    return std::bit_cast<T>(at.fetch_add(read<word>(operand)));
  } else {
    const T given = read<T>(operand);
    word before = at.load();
    for (;;) {
      const auto combined = std::bit_cast<word>(apply<Op>(std::bit_cast<T>(before), given));
      if (at.compare_exchange_weak(before, combined)) return std::bit_cast<T>(before);
    }
  }
}

/// The bytes of a number that have its value: long double has others behind them.
template <class T>
constexpr std::size_t value_bytes = sizeof(T);
template <>
constexpr std::size_t value_bytes<long double> = std::numeric_limits<long double>::digits == 64 ? 10
                                                                                                : sizeof(long double);

/// Leaves padding in the window as it is.
template <class T>
void write(std::byte* there, const T& value) noexcept {
  if constexpr (detail::is_pair<T>) {
    write(there + offsetof(T, value), value.value);
    write(there + offsetof(T, location), value.location);
  } else if constexpr (detail::is_complex<T>) {
    write(there, value.real());
    write(there + sizeof(value.real()), value.imag());
  } else {
    std::memcpy(there, &value, value_bytes<T>);
  }
}

template <accumulate_op Op, class T>
[[gnu::always_inline]] inline void apply_to_each(std::byte* there, const std::byte* operands, std::byte* previous,
                                                 std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * sizeof(T);
    if constexpr (detail::is_covered<T>) {
      const T before = apply_covered<Op, T>(there + at, operands + at);
      if (previous != nullptr) std::memcpy(previous + at, &before, sizeof before);
    } else {
      if (previous != nullptr) std::memcpy(previous + at, there + at, sizeof(T));
      if constexpr (Op != accumulate_op::no_op) {
        write(there + at, apply<Op>(read<T>(there + at), read<T>(operands + at)));
      }
    }
  }
}

using whole_word = std::uint64_t;

/// Elements that are smaller than a word: how many it has.
template <class T>
constexpr std::size_t per_word = detail::is_covered<T> ? sizeof(whole_word) / sizeof(T) : 1;

template <accumulate_op Op, class T>
whole_word combine_words(whole_word there, whole_word given) noexcept {
  if constexpr (Op == accumulate_op::bit_and || Op == accumulate_op::bit_or || Op == accumulate_op::bit_xor ||
                Op == accumulate_op::replace) {
    return apply<Op>(there, given);
  } else if constexpr (Op == accumulate_op::sum && std::integral<T>) {
    // The highest bits of elements are added apart, without a carry: so nothing reaches the next element.
    constexpr whole_word lowest = ~whole_word{0} / ((whole_word{1} << 8 * sizeof(T)) - 1);
    constexpr whole_word highest = lowest << (8 * sizeof(T) - 1);
    return ((there & ~highest) + (given & ~highest)) ^ ((there ^ given) & highest);
  } else {
    using elements = std::array<T, per_word<T>>;
    auto combined = std::bit_cast<elements>(there);
    const auto operands = std::bit_cast<elements>(given);
    for (std::size_t i = 0; i < combined.size(); ++i) combined[i] = apply<Op>(combined[i], operands[i]);
    return std::bit_cast<whole_word>(combined);
  }
}

/// Combines all elements of a word by one exchange, which takes as long as that of one element. The processor puts
/// exchanges of words and of their elements in one order. `there` is aligned to the word.
template <accumulate_op Op, class T>
void apply_to_word(std::byte* there, const std::byte* operands, std::byte* previous) noexcept {
  const std::atomic_ref<whole_word> at(*reinterpret_cast<whole_word*>(there));
  whole_word before = at.load();
  if constexpr (Op != accumulate_op::no_op) {
    const auto given = read<whole_word>(operands);
    while (!at.compare_exchange_weak(before, combine_words<Op, T>(before, given))) continue;
  }
  if (previous != nullptr) std::memcpy(previous, &before, sizeof before);
}

/// The places of elements. Elements before them have been combined.
struct element_places {
  std::byte* there;
  const std::byte* operands;
  std::byte* previous;
  std::size_t count;

  void pass(std::size_t elements, std::size_t bytes) noexcept {
    there += bytes;
    if (operands != nullptr) operands += bytes;
    if (previous != nullptr) previous += bytes;
    count -= elements;
  }
};

template <accumulate_op Op, class T>
void apply_to_elements(std::byte* there, const std::byte* operands, std::byte* previous, std::size_t count) noexcept {
  if constexpr (per_word<T> != 1) {
    element_places left{there, operands, previous, count};
    while (left.count > per_word<T>) {
      if (reinterpret_cast<std::uintptr_t>(left.there) % sizeof(whole_word) == 0) {
        apply_to_word<Op, T>(left.there, left.operands, left.previous);
        left.pass(per_word<T>, sizeof(whole_word));
      } else {
        apply_to_each<Op, T>(left.there, left.operands, left.previous, 1);
        left.pass(1, sizeof(T));
      }
    }
    apply_to_each<Op, T>(left.there, left.operands, left.previous, left.count);
  } else {
    apply_to_each<Op, T>(there, operands, previous, count);
  }
}

/// A bool in a window may be a byte that is neither 0 nor 1.
template <class T>
using stored_as = std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>;

template <accumulate_op Op, class T>
constexpr accumulate_function function_for() {
  if constexpr (is_defined<Op, T>()) return apply_to_elements<Op, stored_as<T>>;
  return nullptr;
}

using functions_of_op = std::array<accumulate_function, element_types>;

template <accumulate_op Op, std::size_t... I>
constexpr functions_of_op functions_for(std::index_sequence<I...>) {
  return {function_for<Op, std::tuple_element_t<I, detail::element_list>>()...};
}

template <std::size_t... Op>
constexpr std::array<functions_of_op, accumulate_ops> all_functions(std::index_sequence<Op...>) {
  return {functions_for<static_cast<accumulate_op>(Op)>(std::make_index_sequence<element_types>())...};
}
constexpr auto functions = all_functions(std::make_index_sequence<accumulate_ops>());

constexpr std::array<std::string_view, element_types> type_names{
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "bool",
    "byte",
    "float",
    "double",
    "long double",
    "complex<float>",
    "complex<double>",
    "complex<long double>",
    "float128_t",
    "complex<float128_t>",
    "pair of float and int",
    "pair of double and int",
    "pair of long and int",
    "pair of two ints",
    "pair of short and int",
    "pair of long double and int",
    "pair of two floats",
    "pair of two doubles",
};

template <std::size_t... I>
constexpr std::array<element_layout, element_types> all_layouts(std::index_sequence<I...>) {
  return {element_layout{.name = type_names[I],
                         .bytes = sizeof(std::tuple_element_t<I, detail::element_list>),
                         .alignment = alignof(std::tuple_element_t<I, detail::element_list>),
                         .is_covered = detail::is_covered<std::tuple_element_t<I, detail::element_list>>}...};
}
constexpr auto layouts = all_layouts(std::make_index_sequence<element_types>());

constexpr std::array<std::string_view, accumulate_ops> op_names{
    "sum",     "product", "minimum", "maximum",          "logical_and",      "logical_or", "logical_xor",
    "bit_and", "bit_or",  "bit_xor", "minimum_location", "maximum_location", "replace",    "no_op",
};

}  // namespace

const element_layout& layout_of(element_type type) noexcept { return layouts[static_cast<std::size_t>(type)]; }

std::string_view name_of(accumulate_op op) noexcept { return op_names[static_cast<std::size_t>(op)]; }

accumulate_function find_accumulate(accumulate_op op, element_type type) noexcept {
  if (!is_valid(op)) [[unlikely]]
    return nullptr;
  return functions[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

}  // namespace amity
