#pragma once

/// The forms that the handler of a message may have, and the loop that calls it for all messages of a packet.

#include <concepts>
#include <cstdint>
#include <span>

namespace amity::detail {

/// `Self` is the message type itself, so that a handler can send messages of its own type again.
template <class Handler, class T, class Self>
concept takes_one = std::invocable<Handler&, const T&>;
template <class Handler, class T, class Self>
concept takes_one_and_self = std::invocable<Handler&, const T&, Self&>;
template <class Handler, class T, class Self>
concept takes_span = std::invocable<Handler&, std::span<const T>>;
template <class Handler, class T, class Self>
concept takes_span_and_self = std::invocable<Handler&, std::span<const T>, Self&>;

template <class Handler, class T, class Self>
concept handler_of = takes_one<Handler, T, Self> || takes_one_and_self<Handler, T, Self> ||
    takes_span<Handler, T, Self> || takes_span_and_self<Handler, T, Self>;

template <class Handler, class T, class Self>
concept takes_only_spans =
    handler_of<Handler, T, Self> && !takes_one<Handler, T, Self> && !takes_one_and_self<Handler, T, Self>;

template <class T, class Handler, class Self>
void handle_one(Handler& handler, const T& message, Self& self) {
  if constexpr (takes_one<Handler, T, Self>) {
    handler(message);
  } else {
    handler(message, self);
  }
}

/// Runs the handler for all messages. Its type is known here: the compiler inlines it into the loop.
template <class T, class Handler, class Self>
void handle_all(Handler& handler, std::span<const T> messages, Self& self) {
  if constexpr (takes_one<Handler, T, Self> || takes_one_and_self<Handler, T, Self>) {
    for (const T& message : messages) handle_one(handler, message, self);
  } else if constexpr (takes_span<Handler, T, Self>) {
    handler(messages);
  } else {
    handler(messages, self);
  }
}

}  // namespace amity::detail
