#pragma once

/// Looks into aggregates for members of a kind, without their names.
///
/// An aggregate is initialized from a list of objects that convert to anything. The most objects for which that is well
/// formed are as many as it has members (Boost.PFR counts them that way). A member that takes an object that converts
/// to types of a kind only is of that kind.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace amity::detail {

/// Initializers that are looked at: one for each member, element of a member that is an array, and base class.
inline constexpr std::size_t members_max = 64;

/// Converts to every value, and to every reference that a member may be.
struct any_member {
  template <class Member>
  operator Member&() const& noexcept;
  template <class Member>
  operator Member&&() const&& noexcept;
};
/// Converts to every value, and to no lvalue reference that is not const.
struct value_member {
  template <class Member>
  operator Member() const noexcept;
};
/// Converts to values of types of which `Kind` holds.
template <template <class> class Kind>
struct member_of_kind {
  template <class Member>
  requires(Kind<Member>::value) operator Member() const noexcept;
};
/// Converts to references to const only.
struct const_reference_member {
  template <class Member>
  requires std::is_const_v<Member>
  operator Member&() const noexcept;
};
/// Converts to nothing.
struct unrelated_member {};

/// Whether an aggregate is initialized by objects that convert to anything, but for one of type `Initializer` at `At`.
template <class Value, class Initializer, std::size_t At, std::size_t... Index>
constexpr bool takes_at(std::index_sequence<Index...>) {
  return requires { Value{std::declval<std::conditional_t<Index == At, Initializer, any_member>>()...}; };
}

template <class Value, template <class> class Kind, std::size_t At, std::size_t Count>
constexpr bool is_member_of_kind_or_reference() {
  using all = std::make_index_sequence<Count>;
  constexpr bool may_have_references = !std::is_copy_assignable_v<Value> && !std::is_move_assignable_v<Value>;
  bool found = takes_at<Value, member_of_kind<Kind>, At>(all());
  if constexpr (may_have_references) {
    found = found || takes_at<Value, const_reference_member, At>(all()) || !takes_at<Value, value_member, At>(all());
  }
  // A member that can be made of everything takes these objects, too.
  return found && !takes_at<Value, unrelated_member, At>(all());
}

/// Initializers of an aggregate: 0 to `members_max`. One whose last members can be left out takes fewer, too.
template <class Value, std::size_t Count = 0, bool Found = false>
constexpr std::size_t initializers_of() {
  constexpr bool fits = takes_at<Value, any_member, Count>(std::make_index_sequence<Count>());
  if constexpr (Found && !fits) {
    return Count - 1;
  } else if constexpr (Count == members_max) {
    return fits ? Count : 0;
  } else {
    return initializers_of<Value, Count + 1, fits>();
  }
}

/// Whether an aggregate has a member that is a reference, or of a type of which `Kind` holds. It does not find members
/// behind the first `members_max` initializers, members of unions, members behind an anonymous union, rvalue
/// references, and what is in classes that are not aggregates.
template <class Value, template <class> class Kind>
constexpr bool has_member_of_kind_or_reference() {
  if constexpr (!std::is_aggregate_v<Value> || std::is_union_v<Value> || std::is_array_v<Value>) {
    return false;
  } else {
    constexpr std::size_t count = initializers_of<Value>();
    return []<std::size_t... At>(std::index_sequence<At...>) {
      return (false || ... || is_member_of_kind_or_reference<Value, Kind, At, count>());
    }
    (std::make_index_sequence<count>());
  }
}

}  // namespace amity::detail
