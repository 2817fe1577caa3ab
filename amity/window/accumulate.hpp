#pragma once

/// What accumulates do to the elements of a window: each predefined reduction of MPI, on each of its arithmetic types.
/// (MPI: A Message-Passing Interface Standard, version 3.1, sections 5.9.2, 5.9.4 and 11.3.4.)
///
/// An element that a processor's instruction covers is combined by that instruction, or by a loop of compare and swap.
/// So accumulates on it are atomic among all threads and processes that map the window. Other elements (pairs, complex
/// numbers, long double, float128_t) must be combined by one thread alone, that of the window's owner.

#include <atomic>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace amity {

enum class accumulate_op : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bit_and,
  bit_or,
  bit_xor,
  minimum_location,  ///< of pairs: the smaller value, or of equal values the smaller location
  maximum_location,  ///< of pairs: the larger value, or of equal values the smaller location
  replace,
  no_op,  ///< the element stays
};
inline constexpr std::size_t accumulate_ops = 14;
constexpr bool is_valid(accumulate_op op) noexcept { return static_cast<std::size_t>(op) < accumulate_ops; }

/// An element of `minimum_location` and `maximum_location`.
template <class Value, class Location>
struct value_location {
  Value value;
  Location location;
  bool operator==(const value_location&) const = default;
};

/// A real number of 128 bits in the format of IEEE 754: REAL(16) of Fortran.
#if defined(__SIZEOF_FLOAT128__)
__extension__ using float128_t = __float128;
#else
using float128_t = long double;
static_assert(std::numeric_limits<long double>::digits == 113);
#endif

/// The types of elements. Their order and sizes are the same on all ranks of a job.
enum class element_type : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  byte,
  float32,
  float64,
  long_double,
  complex32,
  complex64,
  complex_long_double,
  float128,
  complex128,
  float_int,  ///< pairs from here on
  double_int,
  long_int,
  int_int,
  short_int,
  long_double_int,
  float_float,
  double_double,
};
inline constexpr std::size_t element_types = 26;

namespace detail {

using element_list =
    std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
               std::uint64_t, bool, std::byte, float, double, long double, std::complex<float>, std::complex<double>,
               std::complex<long double>, float128_t, std::complex<float128_t>, value_location<float, int>,
               value_location<double, int>, value_location<long, int>, value_location<int, int>,
               value_location<short, int>, value_location<long double, int>, value_location<float, float>,
               value_location<double, double>>;
static_assert(std::tuple_size_v<element_list> == element_types);

/// The first type of the list that `Element` is, or that is an integer of the same size and sign; `element_types`:
/// none.
template <class Element, std::size_t... Index>
constexpr std::size_t find_element(std::index_sequence<Index...>) {
  std::size_t found = element_types;
  const auto look = [&]<class Listed>(std::size_t index, std::type_identity<Listed>) {
    constexpr bool is_same_integer = std::integral<Element> && std::integral<Listed> && !std::same_as<Element, bool> &&
                                     !std::same_as<Listed, bool> && sizeof(Element) == sizeof(Listed) &&
                                     std::is_signed_v<Element> == std::is_signed_v<Listed>;
    if (found == element_types && (std::same_as<Element, Listed> || is_same_integer)) found = index;
  };
  (look(Index, std::type_identity<std::tuple_element_t<Index, element_list>>()), ...);
  return found;
}
template <class Element>
inline constexpr std::size_t element_index = find_element<Element>(std::make_index_sequence<element_types>());

template <class Element>
inline constexpr bool is_pair = false;
template <class Value, class Location>
inline constexpr bool is_pair<value_location<Value, Location>> = true;
template <class Element>
inline constexpr bool is_real = std::floating_point<Element> || std::same_as<Element, float128_t>;
template <class Element>
inline constexpr bool is_complex = false;
template <class Element>
inline constexpr bool is_complex<std::complex<Element>> = true;

/// Whether a processor's instruction combines or exchanges it.
template <class Element>
inline constexpr bool is_covered =
    !is_pair<Element> && !is_complex<Element> && sizeof(Element) <= sizeof(std::uint64_t) &&
    std::atomic_ref<Element>::is_always_lock_free;

}  // namespace detail

/// Types that accumulates combine.
template <class Element>
concept window_element = detail::element_index<Element> < element_types;
template <window_element Element>
inline constexpr auto element_type_of = static_cast<element_type>(detail::element_index<Element>);

struct element_layout {
  std::string_view name;  ///< "double", "pair of float and int"
  std::size_t bytes;
  std::size_t alignment;
  /// The processor combines it at an address that is a multiple of its size.
  bool is_covered;
};
const element_layout& layout_of(element_type type) noexcept;
/// "sum", "minimum_location". `op` is valid.
std::string_view name_of(accumulate_op op) noexcept;

/// Combines `count` elements at `there` with as many `operands`, in their order. What was there before goes to
/// `previous`, unless that is null. `operands` may be null for `no_op`. Nothing overlaps; `there` is aligned to the
/// element's size if it is covered, and no address else needs to be aligned. Padding of elements at `there` does not
/// change.
using accumulate_function = void (*)(std::byte* there, const std::byte* operands, std::byte* previous,
                                     std::size_t count) noexcept;
/// Null: the operation is not valid, or not defined on elements of this type.
accumulate_function find_accumulate(accumulate_op op, element_type type) noexcept;

}  // namespace amity
