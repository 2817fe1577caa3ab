#pragma once

/// What errors and reports say to a person.

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::testing {

inline void expect_parts(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in: " << text;
  }
}

/// The call throws an `error` whose message has all of these parts.
inline void expect_error(const std::function<void()>& call, std::initializer_list<std::string_view> parts) {
  std::string text;
  try {
    call();
  } catch (const error& mistake) {
    text = mistake.what();
  }
  expect_parts(text, parts);
}

/// How many packets have arrived that belong to an epoch which this rank has not begun.
inline int held_back(const core::endpoint& own) {
  constexpr std::string_view before = "held back for the next epoch: ";
  const std::string text = own.stall_report("a test", 0);
  return std::stoi(text.substr(text.find(before) + before.size()));
}

}  // namespace amity::testing
