#pragma once

/// The three roads of a message to the wire, chosen at compile time: copied alone, copied into a shared packet, or
/// encoded. Each comes with the matching loop at the target.

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "amity/base/assert.hpp"
#include "amity/base/bytes.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/handler_form.hpp"
#include "amity/message/packet_buffers.hpp"

namespace amity::detail {

void check_send(const core::endpoint& owner, rank_t dest);

/// Hands a packet of whole values to the handler; returns how many there were.
template <class T, class Handler, class Self>
std::uint64_t handle_plain(bytes_view payload, Handler& handler, Self& self) {
  AMITY_ASSERT(payload.size() % sizeof(T) == 0, payload.size(), sizeof(T));
  const std::size_t count = payload.size() / sizeof(T);
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(T) != 0) {
    // Only a short packet is aligned less than T may ask for; it holds one message.
    alignas(T) std::byte aligned[sizeof(T)];
    AMITY_ASSERT(count == 1, count);
    std::memcpy(aligned, payload.data(), sizeof(T));
    handle_all<T>(handler, std::span(reinterpret_cast<const T*>(aligned), 1), self);
    return 1;
  }
  handle_all<T>(handler, std::span(reinterpret_cast<const T*>(payload.data()), count), self);
  return count;
}

/// Stands in where a type cannot be sent, so that the compiler says so once.
struct no_sender {
  no_sender(core::endpoint&, core::handler_id) {}
  template <class... Ignored>
  void send(const Ignored&...) {}
  template <class... Ignored>
  void flush(const Ignored&...) {}
  template <class... Ignored>
  static std::uint64_t handle(Ignored&&...) {
    return 0;
  }
};

/// Plain values, each a packet of its own.
template <class T>
class alone_sender {
 public:
  alone_sender(core::endpoint& owner, core::handler_id handler) : endpoint_(owner), handler_(handler) {}

  void send(rank_t dest, const T& value) {
    check_send(endpoint_, dest);
    endpoint_.send(dest, handler_, std::as_bytes(std::span(&value, 1)));
  }
  void flush(rank_t) {}
  void flush() {}

  template <class Handler, class Self>
  static std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    return handle_plain<T>(payload, handler, self);
  }

 private:
  core::endpoint& endpoint_;
  core::handler_id handler_;
};

/// Plain values that share packets. A value larger than a packet goes alone, in fragments.
template <class T>
class coalescing_sender {
  static constexpr bool may_be_too_large = sizeof(T) > fabric::packet_bytes_guaranteed;

 public:
  coalescing_sender(core::endpoint& owner, core::handler_id handler, const coalesce& bounds, std::size_t bytes_standard)
      : alone_(owner, handler) {
    std::size_t bytes = bounds.bytes > 0 ? bounds.bytes : bytes_standard;
    if (bounds.count > 0) bytes = std::min(bytes, bounds.count * sizeof(T));
    bytes = std::max(bytes, sizeof(T));
    if (!may_be_too_large || sizeof(T) <= owner.packet_bytes_max()) buffers_.emplace(owner, handler, sizeof(T), bytes);
  }

  void send(rank_t dest, const T& value) {
    if constexpr (may_be_too_large) {
      if (!buffers_) return alone_.send(dest, value);
    }
    std::byte* const place = buffers_->template claim_item<sizeof(T)>(dest);
    if constexpr (std::is_copy_constructible_v<T>) {
      // Not memcpy: the compiler may then assume that the store changes no pointer of ours, and keeps them in
      // registers.
      ::new (static_cast<void*>(place)) T(value);
    } else {
      std::memcpy(place, &value, sizeof(T));
    }
  }
  void flush(rank_t dest) {
    if (buffers_) buffers_->flush(dest);
  }
  void flush() {
    if (buffers_) buffers_->flush_all();
  }

  template <class Handler, class Self>
  static std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    return handle_plain<T>(payload, handler, self);
  }

 private:
  alone_sender<T> alone_;
  std::optional<packet_buffers> buffers_;
};

/// Anything that is encoded, one value behind the other: an encoding tells where it ends.
class encoding_sender {
 public:
  /// With a `count` bound of 1 each value is a packet of its own.
  encoding_sender(core::endpoint& owner, core::handler_id handler, const coalesce& bounds, std::size_t bytes_standard);

  template <class T>
  void send(rank_t dest, const T& value) {
    send(dest, encoded_bytes(value), [&](byte_writer& to) { encode(to, value); });
  }
  /// Sends what `write(byte_writer&)` writes: exactly `bytes`.
  template <class Write>
  void send(rank_t dest, std::size_t bytes, Write&& write) {
    // What encodes to nothing still takes a byte, so that it can be seen.
    const std::size_t room = std::max<std::size_t>(bytes, 1);
    if (room > bytes_max_) [[unlikely]] {
      check_send(endpoint_, dest);
      const auto alone = std::make_unique_for_overwrite<std::byte[]>(room);
      write_checked(alone.get(), bytes, write);
      endpoint_.send(dest, handler_, {alone.get(), room});
      return;
    }
    write_checked(buffers_.reserve_record(dest, room), bytes, write);
    buffers_.commit_record(dest, room);
    if (count_max_ > 0 && buffers_.records(dest) >= count_max_) buffers_.flush(dest);
  }
  void flush(rank_t dest) { buffers_.flush(dest); }
  void flush() { buffers_.flush_all(); }

  /// Calls read_one(byte_reader&) for each value of a packet; returns how many there were.
  template <class ReadOne>
  static std::uint64_t read_all(bytes_view payload, ReadOne&& read_one) {
    byte_reader from(payload);
    std::uint64_t count = 0;
    for (; from.remaining() > 0; ++count) {
      const std::size_t before = from.remaining();
      read_one(from);
      if (from.remaining() == before) from.read_bytes(1);
    }
    return count;
  }

 private:
  template <class Write>
  static void write_checked(std::byte* to, std::size_t bytes, Write&& write) {
    *to = std::byte{0};
    byte_writer out(to);
    write(out);
    const auto written = static_cast<std::size_t>(out.position() - to);
    AMITY_ASSERT(written == bytes, written, bytes, "bytes: codec<T>::write and codec<T>::bytes disagree");
  }

  core::endpoint& endpoint_;
  core::handler_id handler_;
  std::size_t bytes_max_;
  std::size_t count_max_;
  packet_buffers buffers_;
};

/// Values of one type that have a codec.
template <class T>
class encoded_sender : public encoding_sender {
 public:
  using encoding_sender::encoding_sender;

  template <class Handler, class Self>
  static std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    return read_all(payload, [&](byte_reader& from) {
      const T value = decode<T>(from);
      handle_one<T>(handler, value, self);
    });
  }
};

}  // namespace amity::detail
