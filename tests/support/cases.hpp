#pragma once

/// How many cases a random test tries, and how many jobs of a matrix the suites run on.

#include <cstdint>
#include <cstdlib>

#include "tests/support/sanitizer.hpp"

namespace amity::testing {

/// Whether LONG_TESTS is in the environment: `scripts/test long`.
inline bool long_tests() { return std::getenv("LONG_TESTS") != nullptr; }

/// 20 in long tests, otherwise 1.
inline unsigned case_factor() { return long_tests() ? 20 : 1; }

/// `usual` cases; fewer under a sanitizer, and more in long tests.
inline std::uint64_t cases(std::uint64_t usual) { return case_factor() * usual / sanitizer_divisor; }

/// A third of `cases(usual)`, for a test whose cases take long; in long tests and under a sanitizer all of them.
inline std::uint64_t fewer_cases(std::uint64_t usual) {
  return long_tests() || sanitized ? cases(usual) : cases(usual) / 3;
}

/// Whether suites run on each job of their matrix instead of a choice: in long tests, with WHOLE_MATRICES in the
/// environment, and if FABRIC or MPI's launcher decides what the ranks run on. Then a filter selects the jobs.
inline bool whole_matrices() {
  return long_tests() || std::getenv("WHOLE_MATRICES") != nullptr || std::getenv("FABRIC") != nullptr ||
         std::getenv("AMITY_TEST_MPI_RANKS") != nullptr;
}

}  // namespace amity::testing
