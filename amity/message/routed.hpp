#pragma once

/// A message under way over other ranks, as it lies in packets: the value or its encoding, and where it goes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "amity/base/bytes.hpp"
#include "amity/base/types.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/type_name.hpp"

namespace amity::detail {

/// The destination, and the hops taken so far: 24 and 8 bits.
class route_label {
 public:
  static constexpr rank_t ranks_max = 1 << 24;

  route_label() = default;
  explicit constexpr route_label(rank_t dest) noexcept : word_(static_cast<std::uint32_t>(dest) << 8) {}
  constexpr rank_t dest() const noexcept { return static_cast<rank_t>(word_ >> 8); }
  constexpr int hops() const noexcept { return static_cast<int>(word_ & 255); }
  /// With one hop more; not if there are 255.
  constexpr route_label after_hop() const noexcept {
    route_label next = *this;
    ++next.word_;
    return next;
  }

 private:
  std::uint32_t word_;
};
static_assert(sizeof(route_label) == 4 && std::is_trivially_copyable_v<route_label>);

/// A value of a plain type: an array of bytes, because `Value` need not be copyable in the language's sense.
template <class Value>
struct routed_value {
  alignas(Value) std::byte bytes[sizeof(Value)];
  route_label to;

  const Value& value() const noexcept { return *reinterpret_cast<const Value*>(bytes); }
};

template <class Value>
inline constexpr bool has_referring_member<routed_value<Value>> = false;

/// Of a type that has a codec. On its source it refers to the value, and on the way to the encoding in the packet that
/// brought it: ranks that pass it on do not decode it.
template <class Value>
struct routed_encoding {
  route_label to;
  const Value* source;  ///< null: on the way
  bytes_view encoding;
  std::uint64_t bytes;  ///< of the encoding
};

template <class Value>
inline constexpr bool refers<routed_encoding<Value>> = true;  // as a pair of pointers it means nothing elsewhere

template <class Value>
using routed = std::conditional_t<plain<Value>, routed_value<Value>, routed_encoding<Value>>;

/// Calls send(routed message) with `label` and the value.
template <class Value, class Send>
void with_label(route_label label, const Value& value, Send&& send) {
  if constexpr (!plain<Value>) {
    send(routed_encoding<Value>{.to = label, .source = &value, .encoding = {}, .bytes = encoded_bytes(value)});
  } else {
    const auto fill_and_send = [&](routed_value<Value>& message) {
      std::memcpy(message.bytes, &value, sizeof value);
      message.to = label;
      send(std::as_const(message));
    };
    constexpr std::size_t stack_bytes_max = 1024;  // stacks of simulated ranks are small
    if constexpr (sizeof(routed_value<Value>) <= stack_bytes_max) {
      routed_value<Value> message;
      fill_and_send(message);
    } else {
      fill_and_send(*std::make_unique_for_overwrite<routed_value<Value>>());
    }
  }
}
template <class Value, class Send>
void with_label(route_label label, const routed_value<Value>& passed_on, Send&& send) {
  with_label(label, passed_on.value(), send);
}
template <class Value, class Send>
void with_label(route_label label, routed_encoding<Value> passed_on, Send&& send) {
  passed_on.to = label;
  send(passed_on);
}

}  // namespace amity::detail

/// The label, the number of bytes that follow, and these.
template <class Value>
struct amity::codec<amity::detail::routed_encoding<Value>> {
  using message = detail::routed_encoding<Value>;

  static std::size_t bytes(const message& sent) {
    return sizeof sent.to + sizeof sent.bytes + static_cast<std::size_t>(sent.bytes);
  }
  static void write(byte_writer& to, const message& sent) {
    to.write_object(sent.to);
    to.write_object(sent.bytes);
    if (sent.source != nullptr) {
      encode(to, *sent.source);
    } else {
      to.write_bytes(sent.encoding.data(), sent.encoding.size());
    }
  }
  static message read(byte_reader& from) {
    const auto label = from.read_object<detail::route_label>();
    const auto bytes = from.read_object<std::uint64_t>();
    return {
        .to = label, .source = nullptr, .encoding = from.read_bytes(static_cast<std::size_t>(bytes)), .bytes = bytes};
  }
};

namespace amity::detail {

/// The value that has travelled. Throws `error` unless its codec takes all that it wrote.
template <class Value>
Value decode_whole(const routed_encoding<Value>& arrived, rank_t here = no_rank) {
  byte_reader from(arrived.encoding, {.type = type_name<Value>(), .rank = here});
  Value value = decode<Value>(from);
  from.finish();
  return value;
}

}  // namespace amity::detail
