#pragma once

/// What errors and reports say to a person.

#include <string>
#include <string_view>

#include "amity/core/endpoint.hpp"
#include "tests/support/errors.hpp"

namespace amity::testing {

/// How many packets have arrived that belong to an epoch which this rank has not begun.
inline int held_back(const core::endpoint& own) {
  constexpr std::string_view before = "held back for the next epoch: ";
  const std::string text = own.stall_report("a test", 0);
  return std::stoi(text.substr(text.find(before) + before.size()));
}

}  // namespace amity::testing
