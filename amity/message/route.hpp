#pragma once

/// The policy that sends messages over other ranks, so that a rank keeps few packets open.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/handler_form.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/routed.hpp"
#include "amity/message/sender.hpp"
#include "amity/message/topology.hpp"

namespace amity {

/// Messages travel along a topology (direct, grid, hypercube, node_aware, or the user's own): each rank on the way
/// passes them on, in the packets in which it collects its own. With `coalesce` a rank fills one packet for each of its
/// peers in the topology instead of one for each rank: memory falls, and packets are fuller.
///
/// Laws: every message is handled exactly once, on its destination, whatever the topology; ranks on the way do not see
/// it. The topology keeps the laws that stand beside it.
/// Cost: 4 bytes a message, up to alignment (12 bytes for a type with a codec); each hop is one more send and one more
/// arrival. A handler that takes spans gets them of at most `routed_span_bytes_max`, copied together.
template <class Topology = direct>
struct route {
  Topology topology{};
};
route()->route<direct>;
template <class Topology>
route(Topology) -> route<Topology>;

/// Largest span that a handler of routed messages gets, unless one message alone is larger.
inline constexpr std::size_t routed_span_bytes_max = 2048;

namespace detail {

template <class Topology>
inline constexpr int policy_place<route<Topology>> = 4;

template <class Policy>
inline constexpr bool routes = false;
template <class Topology>
inline constexpr bool routes<route<Topology>> = !std::same_as<Topology, direct>;

template <class Value, class Topology>
struct sends_on<Value, route<Topology>> {
  using type = std::conditional_t<routes<route<Topology>>, routed<Value>, Value>;
};

/// What lies in packets of messages of type T.
template <class Value, class... Policies>
using wire_value = std::conditional_t<(routes<Policies> || ...), routed<Value>, Value>;

template <class Value>
inline constexpr bool goes_to_few<routed_value<Value>> = true;
template <class Value>
inline constexpr bool goes_to_few<routed_encoding<Value>> = true;

template <class Value>
struct message_in<routed_value<Value>> {
  using type = Value;
  template <class Ask>
  static decltype(auto) ask(const routed_value<Value>& given, const Ask& question) {
    return std::invoke(question, given.value());
  }
};
template <class Value>
struct message_in<routed_encoding<Value>> {
  using type = Value;
  template <class Ask>
  static auto ask(const routed_encoding<Value>& given, const Ask& question) {
    if (given.source != nullptr) return std::invoke(question, *given.source);
    const Value value = decode_whole(given);
    return std::invoke(question, value);
  }
};

/// On which node each rank is.
std::vector<rank_t> nodes_by_rank(core::endpoint& owner);

[[noreturn]] void throw_wrong_hop(const core::endpoint& owner, rank_t dest, rank_t hop);
[[noreturn]] void throw_too_many_hops(const core::endpoint& owner, rank_t dest, int hops);

/// Messages that have arrived for a handler of spans, until they are enough or the packet ends.
template <class Value>
class gathered_values {
 public:
  template <class Handler, class Self>
  void add(const Value& value, Handler& handler, Self& self) {
    if constexpr (sizeof(Value) > routed_span_bytes_max) {
      handle_all<Value>(handler, std::span(&value, 1), self);
    } else {
      std::memcpy(bytes_ + count_ * sizeof(Value), &value, sizeof(Value));
      if (++count_ == count_max) hand_over(handler, self);
    }
  }
  template <class Handler, class Self>
  void hand_over(Handler& handler, Self& self) {
    if (count_ == 0) return;
    handle_all<Value>(handler, std::span(reinterpret_cast<const Value*>(bytes_), count_), self);
    count_ = 0;
  }

 private:
  static constexpr std::size_t count_max = std::max<std::size_t>(1, routed_span_bytes_max / sizeof(Value));
  static constexpr std::size_t bytes_max = sizeof(Value) > routed_span_bytes_max ? 1 : count_max * sizeof(Value);
  alignas(Value) std::byte bytes_[bytes_max];
  std::size_t count_ = 0;
};

/// One hop, without a label.
template <class Value, class Next>
class stage<Value, Next, route<direct>> final : public stage_base<Next> {
 public:
  template <class MakeNext>
  stage(core::endpoint&, const route<direct>&, const MakeNext& make_next) : stage_base<Next>(make_next) {}

  void send(rank_t dest, const Value& message) { this->next_.send(dest, message); }
  void send(rank_t dest, Value&& message) requires(!plain<Value>) { this->next_.send(dest, std::move(message)); }
};

/// `Next` sends what is routed: the value with a label.
template <class Value, class Next, class Topology>
class stage<Value, Next, route<Topology>> final : public stage_base<Next> {
  static_assert(topology<Topology>,
                "amity: route{topology}: this is not a topology: use grid, hypercube, node_aware or direct, or give "
                "your type a rank_t next_hop(rank_t here, rank_t dest) const");

 public:
  template <class MakeNext>
  stage(core::endpoint& owner, const route<Topology>& policy, const MakeNext& make_next)
      : stage_base<Next>(make_next),
        endpoint_(owner),
        topology_(policy.topology),
        here_(owner.rank()),
        ranks_(static_cast<std::uint32_t>(owner.size())),
        hops_max_(std::clamp(owner.size() - 1, 1, topology_hops_max)) {
    AMITY_ASSERT(owner.size() <= route_label::ranks_max, owner.size());
    if constexpr (requires { topology_.arrange(std::span<const rank_t>()); }) topology_.arrange(nodes_by_rank(owner));
    if (hops_max_ > 1) endpoint_.add_route();
  }
  ~stage() {
    if (hops_max_ > 1) endpoint_.remove_route();
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  void send(rank_t dest, const Value& message) {
    if (static_cast<std::uint32_t>(dest) >= ranks_) [[unlikely]]
      endpoint_.throw_wrong_rank(send_call, dest);
    pass_on(route_label(dest), message);
  }

  /// Sends off the packet in which messages to `dest` leave; ranks on the way send them on when they have nothing else
  /// to do.
  void flush(rank_t dest) { this->next_.flush(next_hop(dest)); }
  void flush() { this->next_.flush(); }

  /// Messages, not hops, which the ledger has counted: those that ranks on the way pass on count there as forwarded
  /// only. While a packet is open, or being handled, the ledger does not know of its messages yet.
  void count(message_counters& counters) const {
    this->next_.count(counters);
    counters.sent -= std::min(counters.sent, forwarded_);
    counters.handled -= std::min(counters.handled, forwarded_);
    counters.forwarded = forwarded_;
  }

  /// The number of messages in the packet: for the ledger each hop is a message, sent and handled, so that an epoch
  /// does not end while one is on its way.
  template <class Handler, class Self>
  std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    if constexpr (takes_only_spans<Handler, Value, Self>) {
      gathered_values<Value> gathered;
      const std::uint64_t count =
          sort(payload, self, [&](const auto& own) { gathered.add(own.value(), handler, self); });
      gathered.hand_over(handler, self);
      return count;
    } else {
      return sort(payload, self, [&](const auto& own) { deliver(own, handler, self); });
    }
  }

 private:
  /// Calls for_me(message) for each message of a packet that has arrived, and passes on the others.
  template <class Self, class ForMe>
  std::uint64_t sort(bytes_view payload, Self& self, ForMe&& for_me) {
    auto each = [&](const routed<Value>& message) {
      if (message.to.dest() == here_) {
        for_me(message);
      } else {
        ++forwarded_;
        pass_on(message.to, message);
      }
    };
    return this->next_.handle(payload, each, self);
  }

  template <class Handler, class Self>
  void deliver(const routed_value<Value>& message, Handler& handler, Self& self) {
    handle_one<Value>(handler, message.value(), self);
  }
  template <class Handler, class Self>
  void deliver(const routed_encoding<Value>& message, Handler& handler, Self& self) {
    const Value value = decode_whole(message, here_);
    handle_one<Value>(handler, value, self);
  }

  template <class Message>
  void pass_on(route_label label, const Message& message) {
    if (label.hops() == hops_max_) [[unlikely]]
      throw_too_many_hops(endpoint_, label.dest(), label.hops());
    with_label(label.after_hop(), message, [&](const routed<Value>& labelled) {
      this->next_.send(goes_directly(labelled) ? label.dest() : next_hop(label.dest()), labelled);
    });
  }

  /// A message that fills packets by itself: other ranks would only copy it.
  bool goes_directly(const routed<Value>& message) const noexcept {
    if constexpr (plain<Value>) {
      return false;
    } else {
      return goes_in_pieces(endpoint_, encoded_bytes(message));
    }
  }

  rank_t next_hop(rank_t dest) const {
    if (dest == here_) return here_;
    const rank_t hop = topology_.next_hop(here_, dest);
    if (static_cast<std::uint32_t>(hop) >= ranks_) [[unlikely]]
      throw_wrong_hop(endpoint_, dest, hop);
    return hop;
  }

  core::endpoint& endpoint_;
  [[no_unique_address]] Topology topology_;
  rank_t here_;
  std::uint32_t ranks_;
  int hops_max_;
  std::uint64_t forwarded_ = 0;
};

}  // namespace detail
}  // namespace amity
