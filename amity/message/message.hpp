#pragma once

/// Typed messages: a type of message, its handler, and the policies between the sender and the wire.
///
/// `world::message` makes them. Sends are legal inside epochs, also in handlers; making and destroying message types is
/// collective and legal outside epochs. docs/contracts/message.md tells the rest.

#include <concepts>
#include <type_traits>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/message/address.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/combine.hpp"
#include "amity/message/handler_form.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/sender.hpp"
#include "amity/message/type_name.hpp"
#include "amity/message/unique.hpp"

namespace amity {

/// Sends values of type T to be handled by `Handler` on other ranks or this one. Neither copied nor moved: the handler
/// is registered under this object's address until the object is destroyed.
template <class T, class Handler, class... Policies>
class message_type final {
  static_assert(std::is_same_v<T, std::remove_cvref_t<T>>,
                "amity: a message is a value: name its type without const, volatile or reference");
  static_assert(
      !detail::refers<T>,
      "amity: a pointer, view or reference means nothing on another rank: send what it refers to, or an index");
  static_assert(encodable<T> || detail::refers<T>,
                "amity: this type is not trivially copyable and has no codec: make it trivially copyable, or "
                "specialise amity::codec for it (amity/message/codec.hpp)");
  static_assert((detail::policy<Policies> && ...),
                "amity: this is not a policy of messages: pass address, unique, combine or coalesce after the handler, "
                "or nothing");
  static_assert(!(detail::policy<Policies> && ...) || detail::policies_in_order<Policies...>,
                "amity: policies are given once each, in the order in which a message meets them: address, unique, "
                "combine, coalesce");
  static_assert(alignof(T) <= cache_line_bytes, "amity: messages are aligned to at most 64 bytes");

  static constexpr bool addressed = (detail::is_address<Policies> || ...);
  static constexpr bool coalesced = detail::has_policy<coalesce, Policies...>;

  // Each road is looked at only if it is taken, so that one mistake gives one sentence.
  static auto choose_sender() {
    if constexpr (!encodable<T>) {
      return std::type_identity<detail::no_sender>{};
    } else if constexpr (!detail::plain<T>) {
      return std::type_identity<detail::encoded_sender<T>>{};
    } else if constexpr (coalesced) {
      return std::type_identity<detail::coalescing_sender<T>>{};
    } else {
      return std::type_identity<detail::alone_sender<T>>{};
    }
  }
  using sender = typename decltype(choose_sender())::type;
  // Nor are stages looked at if the policies are no policies.
  using stages = typename decltype([] {
    if constexpr (detail::policies_in_order<Policies...>) {
      return detail::stages_of<T, sender, Policies...>{};
    } else {
      return std::type_identity<sender>{};
    }
  }())::type;

 public:
  using value_type = T;

  message_type(core::endpoint& owner, std::size_t coalesce_bytes, Handler handler, Policies... policies)
      : endpoint_(owner),
        handler_(std::move(handler)),
        id_(owner.add_handler(detail::type_name<T>(), &message_type::deliver, this)),
        stages_(make_stages(owner, id_, coalesce_bytes, policies...)) {
    static_assert(detail::handler_of<Handler, T, message_type>,
                  "amity: the handler cannot be called with this message: give it (const T&), (const T&, auto& self), "
                  "(std::span<const T>) or (std::span<const T>, auto& self)");
    static_assert(!spans_of_varying_size<message_type>,
                  "amity: messages of varying size are handled one at a time: give the handler (const T&) or "
                  "(const T&, auto& self)");
  }

  ~message_type() {
    detail::check_destruction(endpoint_, id_);
    endpoint_.remove_handler(id_);
  }
  message_type(const message_type&) = delete;
  message_type& operator=(const message_type&) = delete;

  /// Sends `value` to be handled on rank `dest` before the epoch ends. Outside handlers it may wait for a credit, and
  /// run handlers while it does; inside a handler it never waits. Throws `error` for a wrong rank, and outside an
  /// epoch.
  void send(rank_t dest, const T& value) { stages_.send(dest, value); }
  /// As above, to the rank that the policy `address` finds. What its function returns must be a rank.
  void send(const T& value) requires addressed { stages_.send(value); }

  /// Sends off what is collected for `dest`, or for all ranks. The end of an epoch does not need it.
  void flush(rank_t dest) {
    if (dest < 0 || dest >= endpoint_.size()) endpoint_.throw_wrong_rank("message::flush", dest);
    stages_.flush(dest);
  }
  void flush() { stages_.flush(); }

  /// What became of the messages that this rank has sent.
  message_counters counters() const {
    message_counters all;
    const core::message_counts wire = endpoint_.counts().of(id_);
    all.sent = wire.sent;
    all.handled = wire.handled;
    stages_.count(all);
    return all;
  }

  /// The number under which the ledger counts these messages.
  core::handler_id id() const noexcept { return id_; }

 private:
  static stages make_stages(core::endpoint& owner, core::handler_id id, std::size_t coalesce_bytes,
                            const Policies&... policies) {
    coalesce bounds{.count = coalesced ? 0u : 1u};
    [[maybe_unused]] const auto note = [&]<class Policy>(const Policy& policy) {
      if constexpr (std::same_as<Policy, coalesce>) bounds = policy;
    };
    (note(policies), ...);
    const auto make_sender = [&] {
      if constexpr (std::is_constructible_v<sender, core::endpoint&, core::handler_id>) {
        return sender(owner, id);
      } else {
        return sender(owner, id, bounds, coalesce_bytes);
      }
    };
    if constexpr (detail::policies_in_order<Policies...>) {
      return detail::make_stages<T>(owner, make_sender, policies...);
    } else {
      return make_sender();
    }
  }

  static std::uint64_t deliver(void* context, const core::inbound& packet) {
    if constexpr (detail::handler_of<Handler, T, message_type> && !spans_of_varying_size<message_type>) {
      auto& self = *static_cast<message_type*>(context);
      return self.stages_.handle(packet.payload, self.handler_, self);
    } else {
      return 0;
    }
  }

  // A template, because a handler can be asked what it takes only when this class is complete.
  template <class Self>
  static constexpr bool spans_of_varying_size = !detail::plain<T> && detail::takes_only_spans<Handler, T, Self>;

  core::endpoint& endpoint_;
  Handler handler_;
  core::handler_id id_;
  stages stages_;
};

}  // namespace amity
