#pragma once

/// A limit of real time for each test: a test that does not end ends its program, which prints the name of the test.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/cases.hpp"
#include "tests/support/sanitizer.hpp"

namespace amity::testing {

/// Several times the duration of the longest test on a busy machine.
inline const unsigned test_seconds_max = (sanitized ? 270 : 90) * case_factor();

/// Uses the alarm of the process, so that it needs no thread and fork() turns it off: processes that a test has started
/// end with the test program.
class watchdog final : public ::testing::EmptyTestEventListener {
 public:
  /// Watches all tests of this program. Call it once, before they run.
  static bool install() {
    std::signal(SIGALRM, end_program);
    ::testing::UnitTest::GetInstance()->listeners().Append(new watchdog);
    return true;
  }

 private:
  void OnTestStart(const ::testing::TestInfo& test) override {
    std::snprintf(text_, sizeof text_, "%s.%s has not ended after %u s\n", test.test_suite_name(), test.name(),
                  test_seconds_max);
    ::alarm(test_seconds_max);
  }
  void OnTestEnd(const ::testing::TestInfo&) override { ::alarm(0); }

  // Standard error may be captured by the test.
  static void end_program(int) {
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, text_, std::strlen(text_));
    std::abort();
  }

  inline static char text_[256];
};

}  // namespace amity::testing
