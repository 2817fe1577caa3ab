#pragma once

/// What policies of messages have in common: each is a value that is given after the handler, and stands for a stage
/// between `send` and the wire.
///
/// To add one: a struct with its parameters, its place in the order below, and a `stage` that does its work and hands
/// on to the next one.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/message_counters.hpp"
#include "amity/message/coalesce.hpp"

namespace amity {

namespace detail {

/// Where a policy stands among those that a message meets: 0 is the first. Less than 0: not a policy.
template <class Value>
inline constexpr int policy_place = -1;

template <>
inline constexpr int policy_place<coalesce> = 9;

/// Whether a policy has a stage of its own. Those that have none come last.
template <class Value>
inline constexpr bool is_stage = true;

template <>
inline constexpr bool is_stage<coalesce> = false;

template <class Value>
concept policy = policy_place<Value>
>= 0;

template <class Wanted, class... Policies>
inline constexpr bool has_policy = (std::same_as<Wanted, Policies> || ...);

/// Whether each policy comes after the one before it, which also means that none is given twice.
template <class... Policies>
inline constexpr bool policies_in_order = [] {
  const std::array<int, sizeof...(Policies) + 1> places{-1, policy_place<Policies>...};
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i] <= places[i - 1]) return false;
  }
  return true;
}();

/// The part of a stage that only hands on. Stages are not movable: each is made where it stays, inside the one before.
template <class Next>
class stage_base : private immovable {
 public:
  template <class MakeNext>
  explicit stage_base(const MakeNext& make_next) : next_(make_next()) {}

  void flush(rank_t dest) { next_.flush(dest); }
  void flush() { next_.flush(); }
  void count(message_counters& counters) const { next_.count(counters); }
  template <class Here>
  void connect(const Here& here) {
    next_.connect(here);
  }
  template <class Handler, class Self>
  std::uint64_t handle(bytes_view payload, Handler& handler, Self& self) {
    return next_.handle(payload, handler, self);
  }

 protected:
  ~stage_base() = default;
  Next next_;
};

/// A step of a policy before `Next`, for messages of type Value: a stage_base that defines `send(dest, message)`, and
/// those of the other functions in which the policy does something.
template <class Value, class Next, class Policy>
class stage;

/// What the policies after this one are given to send: the message itself, unless the policy puts it into something
/// else.
template <class Value, class Policy>
struct sends_on {
  using type = Value;
};

/// The message of the program in what a stage is given to send; ask(given, question) returns question(message).
template <class Value>
struct message_in {
  using type = Value;
  template <class Ask>
  static decltype(auto) ask(const Value& given, const Ask& question) {
    return std::invoke(question, given);
  }
};

/// The stages of all policies, each with the next one inside, and the sender in the last one; `coalesce` is the
/// sender's own, and `priority` the target's.
template <class Value, class Sender, class... Policies>
struct stages_of {
  using type = Sender;
};
template <class Value, class Sender, class First, class... Others>
struct stages_of<Value, Sender, First, Others...> {
  using type = std::conditional_t<
      !is_stage<First>, Sender,
      stage<Value, typename stages_of<typename sends_on<Value, First>::type, Sender, Others...>::type, First>>;
};

template <class Value, class MakeSender>
auto make_stages(core::endpoint&, const MakeSender& make_sender) {
  return make_sender();
}
template <class Value, class MakeSender, class First, class... Others>
auto make_stages(core::endpoint& owner, const MakeSender& make_sender, const First& first, const Others&... others) {
  if constexpr (!is_stage<First>) {
    return make_sender();
  } else {
    const auto make_next = [&] {
      return make_stages<typename sends_on<Value, First>::type>(owner, make_sender, others...);
    };
    return stage<Value, decltype(make_next()), First>(owner, first, make_next);
  }
}

}  // namespace detail
}  // namespace amity
