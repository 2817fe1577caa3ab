#pragma once

/// What one thread of a rank has of a message type: its own stages, caches and open packets.

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/message/address.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/definition.hpp"
#include "amity/message/deliver_locally.hpp"
#include "amity/message/handler_form.hpp"
#include "amity/message/lend.hpp"
#include "amity/message/parallel.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/priority.hpp"
#include "amity/message/route.hpp"
#include "amity/message/sender.hpp"
#include "amity/message/type_name.hpp"
#include "amity/message/value_stream.hpp"

namespace amity {

/// The view of a message type from one thread: what handlers get as `self`, and `message_type::on` returns. Used by
/// that thread alone. Neither copied nor moved: the handler is registered under this object's address.
template <class Value, class Handler, class... Policies>
class message_lane final : private immovable {
  static constexpr bool addressed = (detail::is_address<Policies> || ...);
  static constexpr bool coalesced = detail::has_policy<coalesce, Policies...>;

  using carried = detail::wire_value<Value, Policies...>;

  // Each road is looked at only if it is taken, so that one mistake gives one sentence.
  static auto choose_sender() {
    if constexpr (!encodable<Value>) {
      return std::type_identity<detail::no_sender>{};
    } else if constexpr (!detail::plain<Value>) {
      return std::type_identity<detail::encoded_sender<carried>>{};
    } else if constexpr (coalesced) {
      return std::type_identity<detail::coalescing_sender<carried>>{};
    } else {
      return std::type_identity<detail::alone_sender<carried>>{};
    }
  }
  using sender = typename decltype(choose_sender())::type;
  // Nor are stages looked at if the policies are no policies.
  using stages = typename decltype([] {
    if constexpr (detail::policies_in_order<Policies...>) {
      return detail::stages_of<Value, sender, Policies...>{};
    } else {
      return std::type_identity<sender>{};
    }
  }())::type;

 public:
  using value_type = Value;

  /// `handler` is shared by the threads of the rank, and outlives this object.
  message_lane(core::endpoint& owner, std::size_t coalesce_bytes, Handler& handler, const Policies&... policies)
      : endpoint_(owner),
        handler_(handler),
        registered_(owner, owner.add_handler(detail::type_name<Value>(), &message_lane::deliver, this,
                                             detail::definition_of<Value, Handler, Policies...>(handler))),
        stages_(make_stages(owner, id(), coalesce_bytes, policies...)) {
    static_assert(detail::handler_of<Handler, Value, message_lane>,
                  "amity: the handler cannot be called with this message: give it (const T&), (const T&, auto& self), "
                  "(std::span<const T>) or (std::span<const T>, auto& self)");
    static_assert(!spans_of_varying_size<message_lane>,
                  "amity: messages of varying size are handled one at a time: give the handler (const T&) or "
                  "(const T&, auto& self)");
    if constexpr (arrives_in_pieces<message_lane>) owner.receive_streams(id(), &message_lane::open_stream);
    if constexpr (detail::has_policy<deliver_locally, Policies...> && detail::policies_in_order<Policies...>) {
      stages_.connect(detail::handler_here<Value>{
          .id = id(), .dest = stays(policies...), .context = this, .handle = &message_lane::handle_here});
    }
  }

  /// Sends `value` to be handled on rank `dest` before the epoch ends. Outside handlers it may wait for a credit, and
  /// run handlers while it does; inside a handler it never waits. Throws `error` for a wrong rank, and outside an
  /// epoch.
  void send(rank_t dest, const Value& value) { stages_.send(dest, value); }
  /// As `message_type::send(rank_t, Value&&)`.
  void send(rank_t dest, Value&& value) requires(!detail::plain<Value>) { stages_.send(dest, std::move(value)); }
  /// As above, to the rank that the policy `address` finds. What its function returns must be a rank.
  void send(const Value& value) requires addressed { stages_.send(value); }
  void send(Value&& value) requires(addressed && !detail::plain<Value>) { stages_.send(std::move(value)); }

  /// As `message_type::send_buffer`.
  template <class Token>
  void send_buffer(rank_t dest, std::span<const Value> values, Token token) {
    static_assert(detail::plain<Value>,
                  "amity: send_buffer sends trivially copyable values as they lie in memory: send values that have a "
                  "codec one by one");
    static_assert((std::same_as<Policies, coalesce> && ...),
                  "amity: send_buffer passes policies by: give the message type none but coalesce, or send one by one");
    if constexpr (detail::plain<Value>) {
      auto held = detail::hold(std::move(token));
      detail::check_send(endpoint_, "message::send_buffer", dest);
      if (values.empty()) return;
      endpoint_.send_lent(endpoint_.home_threads().lane(dest), id(),
                          {.item_bytes = sizeof(Value), .rest = std::as_bytes(values), .token = std::move(held)});
    }
  }

  /// Sends off what is collected for `dest`, or for all ranks. The end of an epoch does not need it.
  void flush(rank_t dest) {
    if (dest < 0 || dest >= endpoint_.size()) endpoint_.throw_wrong_rank("message::flush", dest);
    stages_.flush(dest);
  }
  void flush() { stages_.flush(); }

  /// What became of the messages that this thread has sent.
  message_counters counters() const {
    message_counters all = detail::counted_on_the_wire(endpoint_, id());
    stages_.count(all);
    return all;
  }

  /// Whose view this is: 0 to `world::threads() - 1`, or that for the progress thread.
  rank_t thread_index() const noexcept { return endpoint_.thread(); }
  /// The number under which the ledger counts these messages, the same on all threads and ranks.
  core::handler_id id() const noexcept { return registered_.id; }

 private:
  static core::destinations destinations(core::endpoint& owner, const Policies&... policies) {
    core::destinations to = owner.home_threads();
    [[maybe_unused]] const auto note = [&]<class Policy>(const Policy& policy) {
      if constexpr (detail::is_parallel<Policy>) to = detail::destinations_of(policy, owner);
    };
    (note(policies), ...);
    return to;
  }

  /// The destination whose messages this thread itself handles, all of them; `no_rank` if there is none.
  rank_t stays(const Policies&... policies) const {
    const core::destinations to = destinations(endpoint_, policies...);
    const rank_t rank = endpoint_.rank();
    return to.count == endpoint_.size() && to.lane(rank) == endpoint_.lane() ? rank : no_rank;
  }

  static stages make_stages(core::endpoint& owner, core::handler_id id, std::size_t coalesce_bytes,
                            const Policies&... policies) {
    coalesce bounds{.count = coalesced ? 0u : 1u};
    const core::destinations to = destinations(owner, policies...);
    [[maybe_unused]] const auto note = [&]<class Policy>(const Policy& policy) {
      if constexpr (std::same_as<Policy, coalesce>) bounds = policy;
      if constexpr (std::same_as<Policy, priority>) owner.set_priority(id, policy.level);
    };
    (note(policies), ...);
    const auto make_sender = [&] {
      if constexpr (std::is_constructible_v<sender, core::endpoint&, core::handler_id, const core::destinations&>) {
        return sender(owner, id, to);
      } else {
        return sender(owner, id, to, bounds, coalesce_bytes);
      }
    };
    if constexpr (detail::policies_in_order<Policies...>) {
      return detail::make_stages<Value>(owner, make_sender, policies...);
    } else {
      return make_sender();
    }
  }

  static std::uint64_t deliver(void* context, const core::inbound& packet) {
    if constexpr (detail::handler_of<Handler, Value, message_lane> && !spans_of_varying_size<message_lane>) {
      auto& self = *static_cast<message_lane*>(context);
      return self.stages_.handle(packet.payload, self.handler_, self);
    } else {
      return 0;
    }
  }

  static std::unique_ptr<core::incoming_stream> open_stream(void* context) {
    auto& self = *static_cast<message_lane*>(context);
    const bytes_of whose{.type = detail::type_name<Value>(), .rank = self.endpoint_.rank()};
    return std::make_unique<detail::arriving_value<Value, message_lane>>(self, whose);
  }
  friend class detail::arriving_value<Value, message_lane>;
  void handle_whole(const Value& value) { detail::handle_one<Value>(handler_, value, *this); }

  static void handle_here(void* context, std::span<const Value> messages) {
    if constexpr (detail::handler_of<Handler, Value, message_lane>) {
      auto& self = *static_cast<message_lane*>(context);
      detail::handle_all<Value>(self.handler_, messages, self);
    }
  }

  // A template, because a handler can be asked what it takes only when this class is complete.
  template <class Self>
  static constexpr bool spans_of_varying_size = !detail::plain<Value> && detail::takes_only_spans<Handler, Value, Self>;
  template <class Self>
  static constexpr bool arrives_in_pieces = encodable<Value> && !detail::plain<Value> &&
                                            detail::handler_of<Handler, Value, Self> && !spans_of_varying_size<Self>;

  /// Of the handler. It ends also where the policies refuse what they are given.
  struct registration : private immovable {
    core::endpoint& owner;
    core::handler_id id;

    registration(core::endpoint& at, core::handler_id number) noexcept : owner(at), id(number) {}
    ~registration() { owner.remove_handler(id); }
  };

  core::endpoint& endpoint_;
  Handler& handler_;
  registration registered_;
  stages stages_;
};

}  // namespace amity
