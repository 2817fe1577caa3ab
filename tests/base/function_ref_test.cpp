/// References to what can be called.

#include "amity/base/function_ref.hpp"

#include <string>

#include <gtest/gtest.h>

namespace amity {
namespace {

int twice(function_ref<int(int)> of) { return of(1) + of(10); }

TEST(function_ref, calls_the_object_itself) {
  int calls = 0;
  auto counting = [calls = 0, &last = calls](int value) mutable {
    last = ++calls;
    return value;
  };
  EXPECT_EQ(twice(counting), 11);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(counting(5), 5);
  EXPECT_EQ(calls, 3) << "not a copy";
}

TEST(function_ref, takes_what_is_const_and_converts_its_result) {
  const auto half = [](int value) { return static_cast<short>(value / 2); };
  EXPECT_EQ(twice(half), 5);
  const auto size = [](const std::string& text) { return text.size(); };
  const function_ref<void(const std::string&)> ignoring = size;
  ignoring("text");
}

}  // namespace
}  // namespace amity
