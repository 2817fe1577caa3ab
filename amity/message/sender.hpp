#pragma once

/// The three roads of a message to the wire, chosen at compile time: copied alone, copied into a shared packet, or
/// encoded. Each comes with the matching loop at the target.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/bytes.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/handler_form.hpp"
#include "amity/message/packet_buffers.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/stream_codec.hpp"
#include "amity/message/type_name.hpp"
#include "amity/message/value_stream.hpp"

namespace amity::detail {

/// What a user calls to send a typed message, for errors.
inline constexpr std::string_view send_call = "message::send";

/// Most bytes in a packet, as far as the policy has a say.
inline std::size_t packet_bytes_bound(const coalesce& bounds, std::size_t bytes_standard) {
  if (bounds.bytes > 0) return bounds.bytes;
  return bounds.tuned ? packet_size_tuner::bytes_most : bytes_standard;
}

void check_send(const core::endpoint& owner, std::string_view call, rank_t dest);
/// As above, for the index of a destination.
void check_send(const core::endpoint& owner, const core::destinations& to, std::string_view call, rank_t dest);

/// A message type is being destroyed: ends the job if that is inside an epoch, where it may take messages with it that
/// nobody has counted. Not if an exception is on its way out, which ends the job as well and is the cause of both.
void check_destruction(core::endpoint& owner, core::handler_id handler);

/// What the ledger knows of a message type.
message_counters counted_on_the_wire(const core::endpoint& owner, core::handler_id handler);

/// What the fabric contract promises for every packet.
inline constexpr std::size_t payload_alignment = 16;

struct free_aligned {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{cache_line_bytes}); }
};
/// The same bytes, aligned to the cache line.
std::unique_ptr<std::byte, free_aligned> copy_aligned(bytes_view bytes);

/// Hands a packet of whole values to the handler; returns how many there were.
template <class Value, class Handler, class Self>
std::uint64_t handle_plain(bytes_view payload, Handler& handler, Self& self) {
  AMITY_ASSERT(payload.size() % sizeof(Value) == 0, payload.size(), sizeof(Value));
  const std::span values(reinterpret_cast<const Value*>(payload.data()), payload.size() / sizeof(Value));
  if constexpr (alignof(Value) > payload_alignment) {
    if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(Value) != 0) {
      // The packet was not sent from a slot: it is short, or had to wait for a credit.
      const auto copy = copy_aligned(payload);
      handle_all<Value>(handler, std::span(reinterpret_cast<const Value*>(copy.get()), values.size()), self);
      return values.size();
    }
  }
  handle_all<Value>(handler, values, self);
  return values.size();
}

/// A plain value as it was before handlers ran, which may change or free what a reference to it refers to.
template <class Value>
class value_copy {
 public:
  explicit value_copy(const Value& value) {
    if constexpr (!on_stack) bytes_ = std::make_unique_for_overwrite<std::byte[]>(sizeof(Value));
    std::memcpy(data(), &value, sizeof(Value));
  }
  bytes_view bytes() const { return {const_cast<value_copy*>(this)->data(), sizeof(Value)}; }

 private:
  static constexpr bool on_stack = sizeof(Value) <= 1024;  // stacks of simulated ranks are small
  struct array {
    std::byte bytes[sizeof(Value)];
  };
  std::byte* data() {
    if constexpr (on_stack) {
      return bytes_.bytes;
    } else {
      return bytes_.get();
    }
  }
  std::conditional_t<on_stack, array, std::unique_ptr<std::byte[]>> bytes_;
};

/// Stands in where a type cannot be sent, so that the compiler says so once.
struct no_sender {
  no_sender(core::endpoint&, core::handler_id, const core::destinations&) {}
  template <class... Ignored>
  void send(const Ignored&...) {}
  template <class... Ignored>
  void flush(const Ignored&...) {}
  template <class... Ignored>
  void count(Ignored&...) const {}
  template <class... Ignored>
  static std::uint64_t handle(Ignored&&...) {
    return 0;
  }
};

/// Plain values, each a packet of its own.
template <class Value>
class alone_sender {
 public:
  alone_sender(core::endpoint& owner, core::handler_id handler, const core::destinations& to)
      : endpoint_(owner), handler_(handler), to_(to) {}

  void send(rank_t dest, const Value& value) {
    check_send(endpoint_, to_, send_call, dest);
    const rank_t lane = to_.lane(dest);
    if (endpoint_.try_send(lane, handler_, std::as_bytes(std::span(&value, 1)))) [[likely]]
      return;
    if constexpr (sizeof(Value) > fabric::packet_bytes_guaranteed) {
      if (sizeof(Value) > endpoint_.packet_bytes_max()) {
        core::memory_stream pieces(std::as_bytes(std::span(&value, 1)));
        return endpoint_.send_stream(lane, handler_, pieces, sizeof(Value), core::endpoint::stream_target::whole);
      }
    }
    const value_copy<Value> copy(value);
    endpoint_.send(lane, handler_, copy.bytes());
  }
  void flush(rank_t) {}
  void flush() {}
  void count(message_counters& counters) const {
    counters.room += counters.packets * std::min(sizeof(Value), endpoint_.packet_bytes_max());
  }

  template <class Handler, class Self>
  static std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    return handle_plain<Value>(payload, handler, self);
  }

 private:
  core::endpoint& endpoint_;
  core::handler_id handler_;
  core::destinations to_;
};

/// Whether values of this type go to few of the ranks, as far as one rank sends them.
template <class Value>
inline constexpr bool goes_to_few = false;

template <class Value>
using buffers_for = packet_buffers<std::conditional_t<goes_to_few<Value>, places_of_few, places_by_rank>>;

/// Plain values that share packets. A value larger than a packet goes alone, in fragments.
template <class Value>
class coalescing_sender {
  static constexpr bool may_be_too_large = sizeof(Value) > fabric::packet_bytes_guaranteed;

 public:
  coalescing_sender(core::endpoint& owner, core::handler_id handler, const core::destinations& to,
                    const coalesce& bounds, std::size_t bytes_standard)
      : alone_(owner, handler, to) {
    std::size_t count = std::max<std::size_t>(1, packet_bytes_bound(bounds, bytes_standard) / sizeof(Value));
    if (bounds.count > 0) count = std::min(count, bounds.count);
    if (!may_be_too_large || sizeof(Value) <= owner.packet_bytes_max()) {
      buffers_.emplace(owner, handler, to, send_call, sizeof(Value), count * sizeof(Value), bounds);
    }
  }

  void send(rank_t dest, const Value& value) {
    if constexpr (may_be_too_large) {
      if (!buffers_) return alone_.send(dest, value);
    }
    std::byte* const place = buffers_->template try_claim_item<sizeof(Value)>(dest);
    if (place == nullptr) [[unlikely]]
      return send_in_next_packet(dest, value);
    if constexpr (std::is_copy_constructible_v<Value>) {
      // Not memcpy: the compiler may then assume that the store changes no pointer of ours, and keeps them in
      // registers.
      ::new (static_cast<void*>(place)) Value(value);
    } else {
      std::memcpy(place, &value, sizeof(Value));
    }
  }
  void flush(rank_t dest) {
    if (buffers_) buffers_->flush(dest);
  }
  void flush() {
    if (buffers_) buffers_->flush_all();
  }
  void count(message_counters& counters) const {
    if (!buffers_) return alone_.count(counters);
    buffers_->count(counters);
  }

  template <class Handler, class Self>
  static std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    return handle_plain<Value>(payload, handler, self);
  }

 private:
  // By value if it can: an address would make each send build its message in memory, part by part, and read it back at
  // once as a whole, for which processors have no short cut.
  static constexpr bool takes_value =
      std::is_copy_constructible_v<Value> && sizeof(Value) <= 256 && alignof(Value) <= alignof(std::max_align_t);
  [[gnu::noinline]] void send_in_next_packet(rank_t dest,
                                             std::conditional_t<takes_value, const Value, const Value&> value) {
    const value_copy<Value> copy(value);
    buffers_->make_room(dest, sizeof(Value));
    std::memcpy(buffers_->template try_claim_item<sizeof(Value)>(dest), copy.bytes().data(), sizeof(Value));
  }

  alone_sender<Value> alone_;
  std::optional<buffers_for<Value>> buffers_;
};

/// Calls read_one(byte_reader&) for each record of a packet; returns how many there were. Throws `error` if they are
/// not exactly what the packet holds.
template <class ReadOne>
std::uint64_t read_records(bytes_view payload, bytes_of whose, ReadOne&& read_one) {
  byte_reader from(payload, whose);
  const auto count = from.read_object<record_count>();
  for (record_count i = 0; i < count; ++i) read_one(from);
  from.finish();
  return count;
}

/// Anything that is encoded, one value behind the other: an encoding tells where it ends.
template <class Buffers>
class encoding_sender {
 public:
  /// With a `count` bound of 1 each value is a packet of its own. `call` is the user's call that sends, for errors.
  encoding_sender(core::endpoint& owner, core::handler_id handler, const core::destinations& to, std::string_view call,
                  const coalesce& bounds, std::size_t bytes_standard);

  /// Sends what `write(byte_writer&)` writes: exactly `measure()` bytes. If they need more than a packet, it calls
  /// `send_pieces(lane, bytes)` instead.
  template <class Measure, class Write, class SendPieces>
  void send(rank_t dest, Measure&& measure, Write&& write, SendPieces&& send_pieces) {
    const std::size_t bytes = measure();
    if (bytes > buffers_.record_bytes_max()) [[unlikely]] {
      check_send(endpoint_, to_, call_, dest);
      if (goes_in_pieces(endpoint_, bytes)) return send_pieces(to_.lane(dest), bytes);
      return send_unshared(to_.lane(dest), bytes, write);
    }
    if (std::byte* const place = buffers_.try_reserve_record(dest, bytes)) [[likely]] {
      write_exactly({place, bytes}, whose(), write);
    } else {
      // Handlers run while room is made, and may change or free what is being sent.
      const auto record = std::make_unique_for_overwrite<std::byte[]>(bytes);
      write_exactly({record.get(), bytes}, whose(), write);
      buffers_.make_room(dest, bytes);
      std::memcpy(buffers_.try_reserve_record(dest, bytes), record.get(), bytes);
    }
    buffers_.commit_record(dest, bytes);
    if (buffers_.records(dest) >= count_max_) buffers_.flush(dest);
  }
  void flush(rank_t dest) { buffers_.flush(dest); }
  void flush() { buffers_.flush_all(); }
  void count(message_counters& counters) const { buffers_.count(counters); }

 protected:
  /// Sends a record that no shared packet can hold.
  template <class Write>
  void send_unshared(rank_t lane, std::size_t bytes, Write&& write) {
    constexpr record_count one = 1;
    const auto packet = std::make_unique_for_overwrite<std::byte[]>(sizeof one + bytes);
    std::memcpy(packet.get(), &one, sizeof one);
    write_exactly({packet.get() + sizeof one, bytes}, whose(), write);
    endpoint_.send(lane, handler_, {packet.get(), sizeof one + bytes});
  }

  core::endpoint& endpoint_;
  core::handler_id handler_;

  bytes_of whose() const { return {.type = endpoint_.handlers().at(handler_).name, .rank = endpoint_.rank()}; }

 private:
  core::destinations to_;
  std::string_view call_;
  record_count count_max_;
  Buffers buffers_;
};

extern template class encoding_sender<packet_buffers<places_by_rank>>;
extern template class encoding_sender<packet_buffers<places_of_few>>;

/// Values of one type that have a codec.
template <class Value>
class encoded_sender : public encoding_sender<buffers_for<Value>> {
  using base = encoding_sender<buffers_for<Value>>;

 public:
  encoded_sender(core::endpoint& owner, core::handler_id handler, const core::destinations& to, const coalesce& bounds,
                 std::size_t bytes_standard)
      : base(owner, handler, to, send_call, bounds, bytes_standard) {}

  void send(rank_t dest, const Value& value) {
    base::send(
        dest, [&] { return encoded_bytes(value); }, [&](byte_writer& to) { encode(to, value); },
        [&](rank_t lane, std::size_t bytes) { send_pieces(lane, value, bytes); });
  }
  /// A large value is moved from.
  void send(rank_t dest, Value&& value) {
    base::send(
        dest, [&] { return encoded_bytes(value); }, [&](byte_writer& to) { encode(to, value); },
        [&](rank_t lane, std::size_t) { send_pieces(lane, std::move(value)); });
  }

  template <class Handler, class Self>
  std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) const {
    return read_records(payload, this->whose(), [&](byte_reader& from) {
      const Value value = decode<Value>(from);
      handle_one<Value>(handler, value, self);
    });
  }

 private:
  [[gnu::noinline]] void send_pieces(rank_t lane, const Value& value, [[maybe_unused]] std::size_t bytes) {
    if constexpr (goes_to_few<Value>) {  // it is routed
      if (value.source != nullptr) return send_value(lane, *value.source);
      // A rank on the way has it whole.
      this->send_unshared(lane, bytes, [&](byte_writer& to) { encode(to, value); });
    } else {
      send_value(lane, value);
    }
  }
  [[gnu::noinline]] void send_pieces(rank_t lane, Value&& value) {
    if constexpr (goes_to_few<Value>) {
      send_pieces(lane, std::as_const(value), encoded_bytes(value));
    } else {
      const bytes_of whose{.type = type_name<Value>(), .rank = this->endpoint_.rank()};
      const std::uint64_t bytes = streamed_bytes(value);
      this->endpoint_.send_owned_stream(lane, this->handler_,
                                        std::make_unique<owned_value_stream<Value>>(std::move(value), whose), bytes);
    }
  }
  template <class Sent>
  void send_value(rank_t lane, const Sent& value) {
    const bytes_of whose{.type = type_name<Sent>(), .rank = this->endpoint_.rank()};
    encoder_stream pieces(encoder_of(value, whose), whose);
    this->endpoint_.send_stream(lane, this->handler_, pieces, streamed_bytes(value),
                                core::endpoint::stream_target::pieces);
  }
};

}  // namespace amity::detail
