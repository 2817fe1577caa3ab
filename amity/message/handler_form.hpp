#pragma once

/// The forms that the handler of a message may have, and the loop that calls it for all messages of a packet.

#include <concepts>
#include <cstdint>
#include <span>

namespace amity::detail {

/// `Self` is the message type itself, so that a handler can send messages of its own type again.
template <class Handler, class Value, class Self>
concept takes_one = std::invocable<Handler&, const Value&>;
template <class Handler, class Value, class Self>
concept takes_one_and_self = std::invocable<Handler&, const Value&, Self&>;
template <class Handler, class Value, class Self>
concept takes_span = std::invocable<Handler&, std::span<const Value>>;
template <class Handler, class Value, class Self>
concept takes_span_and_self = std::invocable<Handler&, std::span<const Value>, Self&>;

template <class Handler, class Value, class Self>
concept handler_of = takes_one<Handler, Value, Self> || takes_one_and_self<Handler, Value, Self> ||
    takes_span<Handler, Value, Self> || takes_span_and_self<Handler, Value, Self>;

template <class Handler, class Value, class Self>
concept takes_only_spans =
    handler_of<Handler, Value, Self> && !takes_one<Handler, Value, Self> && !takes_one_and_self<Handler, Value, Self>;

template <class Value, class Handler, class Self>
void handle_one(Handler& handler, const Value& message, Self& self) {
  if constexpr (takes_one<Handler, Value, Self>) {
    handler(message);
  } else {
    handler(message, self);
  }
}

/// Runs the handler for all messages. Its type is known here: the compiler inlines it into the loop.
template <class Value, class Handler, class Self>
void handle_all(Handler& handler, std::span<const Value> messages, Self& self) {
  if constexpr (takes_one<Handler, Value, Self> || takes_one_and_self<Handler, Value, Self>) {
    for (const Value& message : messages) handle_one(handler, message, self);
  } else if constexpr (takes_span<Handler, Value, Self>) {
    handler(messages);
  } else {
    handler(messages, self);
  }
}

}  // namespace amity::detail
