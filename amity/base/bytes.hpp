#pragma once

/// Writing values into bytes and reading them back, with every bound checked on the reading side.

#include <cstring>
#include <type_traits>

#include "amity/base/types.hpp"

namespace amity {

/// Writes one value after the other. The caller provides enough room.
class byte_writer {
 public:
  explicit byte_writer(std::byte* to) noexcept : next_(to) {}

  void write_bytes(const void* from, std::size_t bytes) noexcept {
    if (bytes > 0) std::memcpy(next_, from, bytes);
    next_ += bytes;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void write_object(const T& value) noexcept { write_bytes(&value, sizeof value); }

  std::byte* position() const noexcept { return next_; }

 private:
  std::byte* next_;
};

/// Reads one value after the other. Reading past the end throws `error`: what arrived is not what was sent.
class byte_reader {
 public:
  explicit byte_reader(bytes_view from) noexcept : rest_(from) {}

  bytes_view read_bytes(std::size_t bytes) {
    if (bytes > rest_.size()) throw_truncated(bytes);
    const bytes_view taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> T read_object() {
    const bytes_view from = read_bytes(sizeof(T));
    // Through an array of bytes, because T need not have a default constructor.
    alignas(T) std::byte storage[sizeof(T)];
    std::memcpy(storage, from.data(), sizeof(T));
    return *reinterpret_cast<const T*>(storage);
  }

  std::size_t remaining() const noexcept { return rest_.size(); }

 private:
  [[noreturn]] void throw_truncated(std::size_t wanted) const;

  bytes_view rest_;
};

}  // namespace amity
