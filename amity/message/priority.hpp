#pragma once

/// The policy that lets messages of one type be handled before those of others.

#include "amity/message/policy.hpp"

namespace amity {

/// Messages that have arrived are handled before those of types with a lower level that have arrived by then. Types
/// without this policy have level 0; a level may be negative. Levels count on the target; on the way there is no order.
///
/// Law: none. An epoch has the same messages, each handled once, unless its handlers look at the order.
/// Cost: while a type with a level exists, a rank keeps packets of lower levels back, at most half of a peer's credits,
/// and looks for new arrivals before each of them.
struct priority {
  int level = 1;
};

namespace detail {

template <>
inline constexpr int policy_place<priority> = 10;

/// It works where messages arrive; nothing of it stands between `send` and the wire.
template <>
inline constexpr bool is_stage<priority> = false;

}  // namespace detail
}  // namespace amity
