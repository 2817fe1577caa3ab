#pragma once

/// How a value that is not trivially copyable travels: the codec point.
///
/// Specialise `amity::codec<Value>` for a type of your own:
///
///   template <> struct amity::codec<my_type> {
///     static std::size_t bytes(const my_type& value);                // exactly what write will write
///     static void write(byte_writer& to, const my_type& value);
///     static my_type read(byte_reader& from);                        // takes exactly what write wrote
///   };
///
/// and build it from the codecs of its parts with `encoded_bytes`, `encode` and `decode`. Strings, vectors, arrays,
/// pairs, tuples and optionals of anything encodable are here. A trivially copyable type without a codec is copied as
/// it is and never pays. An aggregate of types with codecs needs a codec of its own.

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "amity/base/bytes.hpp"
#include "amity/message/members.hpp"

namespace amity {

template <class Value>
struct codec;  // specialised by users and below

namespace detail {

template <class Value>
concept has_codec = requires(const Value& value, byte_writer& to, byte_reader& from) {
  { codec<Value>::bytes(value) } -> std::convertible_to<std::size_t>;
  codec<Value>::write(to, value);
  { codec<Value>::read(from) } -> std::convertible_to<Value>;
};

/// What refers to something else is trivially copyable, but means nothing on another rank. Of the standard library's
/// types the common ones are recognized. Pointers to data members are offsets, which mean the same everywhere.
template <class Value>
inline constexpr bool refers = std::is_pointer_v<Value> || std::is_member_function_pointer_v<Value>;
template <class Char, class Traits>
inline constexpr bool refers<std::basic_string_view<Char, Traits>> = true;
template <class Value, std::size_t Extent>
inline constexpr bool refers<std::span<Value, Extent>> = true;
template <class Value>
inline constexpr bool refers<std::initializer_list<Value>> = true;
template <class Value>
inline constexpr bool refers<std::reference_wrapper<Value>> = true;
template <class Value, std::size_t Size>
inline constexpr bool refers<std::array<Value, Size>> = refers<Value>;
template <class Value>
inline constexpr bool refers<std::optional<Value>> = refers<Value>;
template <class... Ts>
inline constexpr bool refers<std::variant<Ts...>> = (refers<Ts> || ...);

template <class Value>
struct refers_elsewhere;

/// Whether a trivially copyable aggregate has a member that is a reference, or of a type of which `Kind` holds, or is a
/// standard type of such aggregates.
template <class Value, template <class> class Kind>
inline constexpr bool has_member_of = [] {
  if constexpr (std::is_trivially_copyable_v<Value>) {
    return has_member_of_kind_or_reference<Value, Kind>();
  } else {
    return false;
  }
}();
template <class Value, std::size_t Size, template <class> class Kind>
inline constexpr bool has_member_of<std::array<Value, Size>, Kind> = has_member_of<Value, Kind>;
template <class Value, template <class> class Kind>
inline constexpr bool has_member_of<std::optional<Value>, Kind> = has_member_of<Value, Kind>;
template <class Value, template <class> class Kind>
inline constexpr bool has_member_of<std::vector<Value>, Kind> = has_member_of<Value, Kind>;
template <class First, class Second, template <class> class Kind>
inline constexpr bool has_member_of<std::pair<First, Second>, Kind> =
    has_member_of<First, Kind> || has_member_of<Second, Kind>;
template <template <class> class Kind, class... Ts>
inline constexpr bool has_member_of<std::tuple<Ts...>, Kind> = (has_member_of<Ts, Kind> || ...);
template <template <class> class Kind, class... Ts>
inline constexpr bool has_member_of<std::variant<Ts...>, Kind> = (has_member_of<Ts, Kind> || ...);

template <class Value>
struct refers_elsewhere : std::bool_constant<refers<Value> || has_member_of<Value, refers_elsewhere>> {};
template <class Value>
inline constexpr bool has_referring_member = has_member_of<Value, refers_elsewhere>;

template <class Value>
inline constexpr bool has_encoded_alternative = false;
template <class... Ts>
inline constexpr bool has_encoded_alternative<std::variant<Ts...>> = (has_codec<Ts> || ...);

/// A copy of the bytes would go past the codec of the type, or of a part of it.
template <class Value>
struct has_encoded_part
    : std::bool_constant<has_codec<Value> || has_encoded_alternative<Value> || has_member_of<Value, has_encoded_part>> {
};

/// What a copy of the bytes sends.
template <class Value>
concept plain =
    std::is_trivially_copyable_v<Value> && !refers_elsewhere<Value>::value && !has_encoded_part<Value>::value;

}  // namespace detail

/// A type that can be sent.
template <class Value>
concept encodable = detail::plain<Value> || detail::has_codec<Value>;

template <encodable Value>
std::size_t encoded_bytes(const Value& value) {
  if constexpr (detail::plain<Value>) {
    return sizeof(Value);
  } else {
    return codec<Value>::bytes(value);
  }
}

template <encodable Value>
void encode(byte_writer& to, const Value& value) {
  if constexpr (detail::plain<Value>) {
    to.write_object(value);
  } else {
    codec<Value>::write(to, value);
  }
}

template <encodable Value>
Value decode(byte_reader& from) {
  if constexpr (std::is_same_v<Value, bool>) {
    return from.read_object<std::uint8_t>() != 0;  // whatever byte arrived, it becomes a bool
  } else if constexpr (detail::plain<Value>) {
    return from.read_object<Value>();
  } else {
    return codec<Value>::read(from);
  }
}

namespace detail {

/// A standard type of these parts that needs no codec.
template <class Whole, class... Parts>
concept copied_whole = std::is_trivially_copyable_v<Whole> &&(plain<Parts>&&...);

/// Strings and vectors: the number of elements, then the elements.
template <class Sequence>
struct sequence_codec {
  using element = typename Sequence::value_type;

  static std::size_t bytes(const Sequence& value) {
    std::size_t total = sizeof(std::uint64_t);
    if constexpr (plain<element>) {
      total += value.size() * sizeof(element);
    } else {
      for (const element& each : value) total += encoded_bytes(each);
    }
    return total;
  }
  static void write(byte_writer& to, const Sequence& value) {
    to.write_object(static_cast<std::uint64_t>(value.size()));
    if constexpr (plain<element> && !std::is_same_v<element, bool>) {
      to.write_bytes(value.data(), value.size() * sizeof(element));
    } else {
      for (const element& each : value) encode(to, each);
    }
  }
  static Sequence read(byte_reader& from) {
    const auto count = static_cast<std::size_t>(from.read_object<std::uint64_t>());
    Sequence value;
    if constexpr (plain<element> && std::is_default_constructible_v<element> && !std::is_same_v<element, bool>) {
      const bytes_view content = from.read_items(count, sizeof(element));
      value.resize(count);
      if (count > 0) std::memcpy(value.data(), content.data(), content.size());
    } else {
      // Nothing is reserved: a count that is wrong ends at the end of the bytes, not of the memory.
      for (std::size_t i = 0; i < count; ++i) value.push_back(decode<element>(from));
    }
    return value;
  }
};

/// Pairs, tuples and arrays: one element after the other.
template <class Product>
struct product_codec {
  static std::size_t bytes(const Product& value) {
    return std::apply([](const auto&... each) { return (std::size_t{0} + ... + encoded_bytes(each)); }, value);
  }
  static void write(byte_writer& to, const Product& value) {
    std::apply([&](const auto&... each) { (encode(to, each), ...); }, value);
  }
  static Product read(byte_reader& from) { return read(from, std::make_index_sequence<std::tuple_size_v<Product>>()); }

 private:
  template <std::size_t... Index>
  static Product read(byte_reader& from, std::index_sequence<Index...>) {
    return Product{decode<std::tuple_element_t<Index, Product>>(from)...};  // braces: left to right
  }
};

/// Whether there is a value, then the value.
template <class Value>
struct optional_codec {
  static std::size_t bytes(const std::optional<Value>& value) { return 1 + (value ? encoded_bytes(*value) : 0); }
  static void write(byte_writer& to, const std::optional<Value>& value) {
    to.write_object(value.has_value());
    if (value) encode(to, *value);
  }
  static std::optional<Value> read(byte_reader& from) {
    if (!decode<bool>(from)) return std::nullopt;
    return decode<Value>(from);
  }
};

}  // namespace detail

template <>
struct codec<std::string> : detail::sequence_codec<std::string> {};

template <class Value>
requires(encodable<Value> || std::is_same_v<Value, bool>) struct codec<std::vector<Value>>
    : detail::sequence_codec<std::vector<Value>> {
};

template <encodable First, encodable Second>
requires(!detail::copied_whole<std::pair<First, Second>, First, Second>) struct codec<std::pair<First, Second>>
    : detail::product_codec<std::pair<First, Second>> {
};

template <encodable... Ts>
requires(!detail::copied_whole<std::tuple<Ts...>, Ts...>) struct codec<std::tuple<Ts...>>
    : detail::product_codec<std::tuple<Ts...>> {
};

template <encodable Value, std::size_t Size>
requires(!detail::copied_whole<std::array<Value, Size>, Value>) struct codec<std::array<Value, Size>>
    : detail::product_codec<std::array<Value, Size>> {
};

template <encodable Value>
requires(!detail::copied_whole<std::optional<Value>, Value>) struct codec<std::optional<Value>>
    : detail::optional_codec<Value> {
};

}  // namespace amity
