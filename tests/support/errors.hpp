#pragma once

/// What errors say to a person.

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"

namespace amity::testing {

/// The message of the `error` that the call throws; "no error" if it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const error& mistake) {
    return mistake.what();
  }
  return "no error";
}

inline void expect_parts(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in: " << text;
  }
}

/// The call throws an `error` whose message has all of these parts.
inline void expect_error(const std::function<void()>& call, std::initializer_list<std::string_view> parts) {
  expect_parts(error_of(call), parts);
}

}  // namespace amity::testing
