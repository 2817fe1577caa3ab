#pragma once

/// How a value that is not trivially copyable travels: the codec point.
///
/// Specialise `amity::codec<T>` for a type of your own:
///
///   template <> struct amity::codec<my_type> {
///     static std::size_t bytes(const my_type& value);                // exactly what write will write
///     static void write(byte_writer& to, const my_type& value);
///     static my_type read(byte_reader& from);                        // takes exactly what write wrote
///   };
///
/// and build it from the codecs of its parts with `encoded_bytes`, `encode` and `decode`. Strings, vectors, arrays,
/// pairs, tuples and optionals of anything encodable are here. A trivially copyable type is copied as it is and never
/// pays.

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

template <class T>
struct codec;  // specialised by users and below

namespace detail {

template <class T>
concept has_codec = requires(const T& value, byte_writer& to, byte_reader& from) {
  { codec<T>::bytes(value) } -> std::convertible_to<std::size_t>;
  codec<T>::write(to, value);
  { codec<T>::read(from) } -> std::convertible_to<T>;
};

/// What refers to something else is trivially copyable, but means nothing on another rank. Of the standard library's
/// types the common ones are recognized. Pointers to data members are offsets, which mean the same everywhere.
template <class T>
inline constexpr bool refers = std::is_pointer_v<T> || std::is_member_function_pointer_v<T>;
template <class Char, class Traits>
inline constexpr bool refers<std::basic_string_view<Char, Traits>> = true;
template <class T, std::size_t Extent>
inline constexpr bool refers<std::span<T, Extent>> = true;
template <class T>
inline constexpr bool refers<std::initializer_list<T>> = true;
template <class T>
inline constexpr bool refers<std::reference_wrapper<T>> = true;
template <class T, std::size_t N>
inline constexpr bool refers<std::array<T, N>> = refers<T>;
template <class T>
inline constexpr bool refers<std::optional<T>> = refers<T>;
template <class... Ts>
inline constexpr bool refers<std::variant<Ts...>> = (refers<Ts> || ...);

template <class T>
struct refers_elsewhere;

/// A trivially copyable aggregate with a member that refers to something else, or a standard type of such aggregates.
template <class T>
inline constexpr bool has_referring_member = [] {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return has_member_of_kind_or_reference<T, refers_elsewhere>();
  } else {
    return false;
  }
}();
template <class T, std::size_t N>
inline constexpr bool has_referring_member<std::array<T, N>> = has_referring_member<T>;
template <class T>
inline constexpr bool has_referring_member<std::optional<T>> = has_referring_member<T>;
template <class T>
inline constexpr bool has_referring_member<std::vector<T>> = has_referring_member<T>;
template <class A, class B>
inline constexpr bool has_referring_member<std::pair<A, B>> = has_referring_member<A> || has_referring_member<B>;
template <class... Ts>
inline constexpr bool has_referring_member<std::tuple<Ts...>> = (has_referring_member<Ts> || ...);
template <class... Ts>
inline constexpr bool has_referring_member<std::variant<Ts...>> = (has_referring_member<Ts> || ...);

template <class T>
struct refers_elsewhere : std::bool_constant<refers<T> || has_referring_member<T>> {};

template <class T>
concept plain = std::is_trivially_copyable_v<T> && !refers_elsewhere<T>::value;

}  // namespace detail

/// A type that can be sent.
template <class T>
concept encodable = detail::plain<T> || detail::has_codec<T>;

template <encodable T>
std::size_t encoded_bytes(const T& value) {
  if constexpr (detail::plain<T>) {
    return sizeof(T);
  } else {
    return codec<T>::bytes(value);
  }
}

template <encodable T>
void encode(byte_writer& to, const T& value) {
  if constexpr (detail::plain<T>) {
    to.write_object(value);
  } else {
    codec<T>::write(to, value);
  }
}

template <encodable T>
T decode(byte_reader& from) {
  if constexpr (std::is_same_v<T, bool>) {
    return from.read_object<std::uint8_t>() != 0;  // whatever byte arrived, it becomes a bool
  } else if constexpr (detail::plain<T>) {
    return from.read_object<T>();
  } else {
    return codec<T>::read(from);
  }
}

namespace detail {

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
template <class T>
struct optional_codec {
  static std::size_t bytes(const std::optional<T>& value) { return 1 + (value ? encoded_bytes(*value) : 0); }
  static void write(byte_writer& to, const std::optional<T>& value) {
    to.write_object(value.has_value());
    if (value) encode(to, *value);
  }
  static std::optional<T> read(byte_reader& from) {
    if (!decode<bool>(from)) return std::nullopt;
    return decode<T>(from);
  }
};

}  // namespace detail

template <>
struct codec<std::string> : detail::sequence_codec<std::string> {};

template <class T>
requires(encodable<T> || std::is_same_v<T, bool>) struct codec<std::vector<T>>
    : detail::sequence_codec<std::vector<T>> {
};

template <encodable A, encodable B>
requires(!detail::plain<std::pair<A, B>>) struct codec<std::pair<A, B>> : detail::product_codec<std::pair<A, B>> {
};

template <encodable... Ts>
requires(!detail::plain<std::tuple<Ts...>>) struct codec<std::tuple<Ts...>> : detail::product_codec<std::tuple<Ts...>> {
};

template <encodable T, std::size_t N>
requires(!detail::plain<std::array<T, N>>) struct codec<std::array<T, N>> : detail::product_codec<std::array<T, N>> {
};

template <encodable T>
requires(!detail::plain<std::optional<T>>) struct codec<std::optional<T>> : detail::optional_codec<T> {
};

}  // namespace amity
