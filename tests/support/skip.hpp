#pragma once

/// Tests of what this machine may lack: a system call, a privilege, a program, memory. Such a test is skipped; where
/// tests must be complete, as in continuous integration, it fails instead.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

namespace amity::testing {

/// Whether what a machine lacks is an error: TESTS_COMPLETE is in the environment.
inline bool tests_are_complete() { return std::getenv("TESTS_COMPLETE") != nullptr; }

/// The memory in MiB that processes can take without swapping, as the kernel estimates it; 0 if it does not.
inline std::size_t available_memory_mib() {
  std::ifstream lines("/proc/meminfo");
  for (std::string name; lines >> name;) {
    std::size_t kib = 0;
    if (name == "MemAvailable:" && lines >> kib) return kib / 1024;
    lines.ignore(1000, '\n');
  }
  return 0;
}

}  // namespace amity::testing

/// Ends the function unless the machine has what it needs: the test is skipped, or fails if tests must be complete.
#define AMITY_SKIP_UNLESS(condition, missing)                                 \
  if (condition) {                                                            \
  } else if (::amity::testing::tests_are_complete())                          \
    return GTEST_MESSAGE_(missing, ::testing::TestPartResult::kFatalFailure); \
  else                                                                        \
    GTEST_SKIP() << (missing)
