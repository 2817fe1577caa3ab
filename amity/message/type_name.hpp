#pragma once

/// The name of a type, as its compiler spells it: what ranks compare, and what messages to a person show.

#include <string_view>

namespace amity::detail {

template <class T>
constexpr std::string_view type_name() {
  // "... type_name() [with T = NAME; ...]" (gcc) or "... type_name() [T = NAME]" (clang).
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  return name.substr(0, name.find_first_of(";]"));
}

}  // namespace amity::detail
