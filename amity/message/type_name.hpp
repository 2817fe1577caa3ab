#pragma once

/// The name of a type, as its compiler spells it: what ranks compare, and what messages to a person show.

#include <string_view>

namespace amity::detail {

template <class Value>
constexpr std::string_view signature_with() {
  return __PRETTY_FUNCTION__;
}

template <class Value>
constexpr std::string_view type_name() {
  // All that differs between two signatures is the name: what surrounds it is learned from a name that we know.
  constexpr std::string_view known = signature_with<void>();
  constexpr std::size_t before = known.find("void");
  constexpr std::size_t after = known.size() - before - 4;
  std::string_view name = signature_with<Value>();
  name.remove_prefix(before);
  name.remove_suffix(after);
  return name;
}

}  // namespace amity::detail
