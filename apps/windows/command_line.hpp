#pragma once

/// What the programs of this folder have in common: the end of their command line, and the report of their result.

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "amity/amity.hpp"

namespace amity::apps::windows {

/// Reads the options. Returns the exit status if the program ends here: 0 after --help, 2 for a wrong command line.
inline std::optional<int> parse(CLI::App& options, int argc, char** argv) {
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    return options.exit(end) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

/// Prints the result on rank 0, and whether it is right. Returns the exit status. Collective.
inline int report(world& w, const std::string& result, std::uint64_t errors) {
  const std::uint64_t all = w.sum(errors);
  if (w.rank() == 0) std::printf("%s: %s\n", result.c_str(), all == 0 ? "right" : "WRONG");
  return all == 0 ? 0 : 1;
}

}  // namespace amity::apps::windows
