#pragma once

/// Writing values into bytes and reading them back, with every bound checked on both sides.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"

namespace amity {

/// Whose bytes they are, for errors.
struct bytes_of {
  std::string_view type = {};  ///< of the message
  rank_t rank = no_rank;
};

/// Throws `error`: `count` items were to be read of a message of which `left` bytes are left.
[[noreturn]] void throw_truncated_message(std::uint64_t count, std::size_t item_bytes, std::uint64_t left,
                                          const bytes_of& whose);
/// Throws `error`: a message has been read, except for `left` bytes.
[[noreturn]] void throw_unread_message(std::uint64_t left, const bytes_of& whose);

/// Writes one value after the other. Writing past the end throws `error`, and writes nothing.
class byte_writer {
 public:
  explicit byte_writer(mutable_bytes to, bytes_of whose = {}) noexcept : rest_(to), whose_(whose) {}

  void write_bytes(const void* from, std::size_t bytes) {
    if (bytes > rest_.size()) [[unlikely]]
      throw_full(bytes);
    if (bytes > 0) std::memcpy(rest_.data(), from, bytes);
    rest_ = rest_.subspan(bytes);
  }
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void write_object(const Value& value) { write_bytes(&value, sizeof value); }

  /// Throws `error` unless all the room was written.
  void finish() const {
    if (!rest_.empty()) [[unlikely]]
      throw_room_left();
  }

 private:
  [[noreturn]] void throw_full(std::size_t wanted) const;
  [[noreturn]] void throw_room_left() const;

  mutable_bytes rest_;
  bytes_of whose_;
};

/// Reads one value after the other. Reading past the end throws `error`: what arrived is not what was sent.
class byte_reader {
 public:
  explicit byte_reader(bytes_view from, bytes_of whose = {}) noexcept : rest_(from), whose_(whose) {}

  bytes_view read_bytes(std::size_t bytes) {
    if (bytes > rest_.size()) [[unlikely]]
      throw_truncated(bytes, 1);
    const bytes_view taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  /// The bytes of `count` items. No count is too large to be refused in good order, not even one whose product
  /// overflows.
  bytes_view read_items(std::size_t count, std::size_t item_bytes) {
    if (count > rest_.size() / item_bytes) [[unlikely]]
      throw_truncated(count, item_bytes);
    return read_bytes(count * item_bytes);
  }
  template <class Value>
  requires(std::is_trivially_copyable_v<Value>&& std::is_move_constructible_v<Value>) Value read_object() {
    const bytes_view from = read_bytes(sizeof(Value));
    // Through an array of bytes, because Value need not have a default constructor.
    alignas(Value) std::byte storage[sizeof(Value)];
    std::memcpy(storage, from.data(), sizeof(Value));
    return std::move(*reinterpret_cast<Value*>(storage));
  }

  /// Throws `error` unless all was read.
  void finish() const {
    if (!rest_.empty()) [[unlikely]]
      throw_bytes_left();
  }

 private:
  [[noreturn]] void throw_truncated(std::size_t count, std::size_t item_bytes) const;
  [[noreturn]] void throw_bytes_left() const;

  bytes_view rest_;
  bytes_of whose_;
};

}  // namespace amity
