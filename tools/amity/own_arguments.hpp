#pragma once

/// Where the arguments of a command that starts a program end, and those of the program begin.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace amity::tools {

/// How many of the arguments are the command's: all up to and including the first that is no option. `with_value`: the
/// options that take the argument behind them.
inline std::size_t own_arguments(std::span<const std::string> arguments, std::span<const std::string_view> with_value) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    if (argument == "--") return std::min(i + 2, arguments.size());
    if (std::ranges::find(with_value, argument) != with_value.end()) {
      ++i;
    } else if (!argument.starts_with('-')) {
      return i + 1;
    }
  }
  return arguments.size();
}

}  // namespace amity::tools
