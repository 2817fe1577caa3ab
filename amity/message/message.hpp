#pragma once

/// Typed messages: a type of message, its handler, and the policies between the sender and the wire.
///
/// `world::message` makes them. Sends are legal inside epochs, also in handlers; making and destroying message types is
/// collective and legal outside epochs. docs/contracts/message.md tells the rest.

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/core/team.hpp"
#include "amity/message/address.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/combine.hpp"
#include "amity/message/deliver_locally.hpp"
#include "amity/message/message_lane.hpp"
#include "amity/message/other_lanes.hpp"
#include "amity/message/parallel.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/priority.hpp"
#include "amity/message/route.hpp"
#include "amity/message/sender.hpp"
#include "amity/message/type_name.hpp"
#include "amity/message/unique.hpp"

namespace amity {

/// Sends values of type Value to be handled by `Handler` on other ranks or this one. Neither copied nor moved: the
/// handler is registered under this object's address until the object is destroyed. Its own functions are for thread 0
/// of the rank; the others, and handlers that they run, use `on`.
template <class Value, class Handler, class... Policies>
class message_type final : private immovable {
  static_assert(std::is_same_v<Value, std::remove_cvref_t<Value>>,
                "amity: a message is a value: name its type without const, volatile or reference");
  static_assert(
      !detail::refers<Value>,
      "amity: a pointer, view or reference means nothing on another rank: send what it refers to, or an index");
  static_assert(encodable<Value> || detail::refers<Value> || !detail::has_referring_member<Value>,
                "amity: a member of this type is a pointer, view or reference, which means nothing on another rank: "
                "send what it refers to, an index, or a std::uintptr_t if only its own rank uses it, or specialize "
                "amity::codec");
  static_assert(encodable<Value> || detail::refers<Value> || detail::has_referring_member<Value> ||
                    !detail::has_encoded_part<Value>::value,
                "amity: a member of this type has a codec, which a copy of the whole would not use: specialize "
                "amity::codec for the whole");
  static_assert(encodable<Value> || detail::refers<Value> || detail::has_referring_member<Value> ||
                    detail::has_encoded_part<Value>::value,
                "amity: this type is not trivially copyable and has no codec: make it trivially copyable, or "
                "specialise amity::codec for it (amity/message/codec.hpp)");
  static_assert(
      (detail::policy<Policies> && ...),
      "amity: this is not a policy of messages: pass address, unique, combine, deliver_locally, route, parallel, "
      "coalesce or priority after the handler, or nothing");
  static_assert(!(detail::policy<Policies> && ...) || detail::policies_in_order<Policies...>,
                "amity: policies are given once each, in the order in which a message meets them: address, unique, "
                "combine, deliver_locally, route, parallel, coalesce, priority");
  static_assert(alignof(Value) <= cache_line_bytes, "amity: messages are aligned to at most 64 bytes");

  static constexpr bool addressed = (detail::is_address<Policies> || ...);

 public:
  using value_type = Value;
  using lane = message_lane<Value, Handler, Policies...>;

  message_type(core::team& threads, std::size_t coalesce_bytes, Handler handler, Policies... policies)
      : team_(threads),
        tenant_(threads, detail::type_name<Value>()),
        handler_(std::move(handler)),
        first_(threads.lane(0), coalesce_bytes, handler_, policies...),
        others_(threads, [&](core::endpoint& owner) {
          auto own = std::make_unique<lane>(owner, coalesce_bytes, handler_, policies...);
          core::check_same_number("world::message", owner, first_.id(), own->id());
          return detail::other_lanes::own(own.release());
        }) {}

  ~message_type() {
    detail::check_destruction(team_.lane(0), first_.id());
    if (core::counter_book* const book = team_.lane(0).ended_counters()) {
      book->add(detail::type_name<Value>(), counters());
    }
  }

  /// Sends `value` to be handled on rank `dest` before the epoch ends. Outside handlers it may wait for a credit, and
  /// run handlers while it does; inside a handler it never waits. Throws `error` for a wrong rank, and outside an
  /// epoch.
  void send(rank_t dest, const Value& value) { first_.send(dest, value); }
  /// Sends a value with a codec that the caller no longer needs. If it is larger than a packet, it is moved
  /// from and sent from where it is kept: in handlers, too, nothing is copied.
  void send(rank_t dest, Value&& value) requires(!detail::plain<Value>) { first_.send(dest, std::move(value)); }
  /// As above, to the rank that the policy `address` finds. What its function returns must be a rank.
  void send(const Value& value) requires addressed { first_.send(value); }
  void send(Value&& value) requires(addressed && !detail::plain<Value>) { first_.send(std::move(value)); }

  /// Sends each of `values` to `dest`, from where it lies and without waiting, in packets of as many as fit: what finds
  /// no credit waits as a reference. Until `token` is destroyed, which happens exactly once whatever becomes of the
  /// job, the values stay as they are; a token that can be called is called then, once. It is any movable object: the
  /// owner of the memory, a shared_ptr to it, or a function that notes that the memory is free; it must neither throw
  /// nor call amity. Costs one allocation, whatever the size. Throws `error` as `send` does.
  template <class Token>
  void send_buffer(rank_t dest, std::span<const Value> values, Token token) {
    first_.send_buffer(dest, values, std::move(token));
  }

  /// Sends off what is collected for `dest`, or for all ranks. The end of an epoch does not need it.
  void flush(rank_t dest) { first_.flush(dest); }
  void flush() { first_.flush(); }

  /// The view of one thread: `who` is the amity::thread that an epoch gives its body, or the `self` that a handler gets
  /// (of any message type). It has the same `send` and `flush`. Keep it for a loop: `auto& mine = type.on(thread)`.
  template <class Who>
  requires requires(const Who& who) {
    { who.thread_index() } -> std::convertible_to<rank_t>;
  }
  lane& on(const Who& who) noexcept {
    const rank_t thread = who.thread_index();
    return thread == 0 ? first_ : other(thread);
  }

  /// What became of the messages that this rank has sent. With several threads: outside epochs.
  message_counters counters() const {
    message_counters all = first_.counters();
    for (rank_t thread = 1; thread < others_.threads(); ++thread) all += other(thread).counters();
    return all;
  }

  /// The number under which the ledger counts these messages.
  core::handler_id id() const noexcept { return first_.id(); }

 private:
  lane& other(rank_t thread) const noexcept { return *static_cast<lane*>(others_.of(thread)); }

  core::team& team_;
  core::team::tenant tenant_;
  Handler handler_;
  lane first_;
  detail::other_lanes others_;
};

}  // namespace amity
