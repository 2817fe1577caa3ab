#pragma once

/// How many cases a random test tries.

#include <cstdint>
#include <cstdlib>

#include "tests/support/sanitizer.hpp"

namespace amity::testing {

/// `usual` cases; fewer under a sanitizer, and 20 times as many if LONG_TESTS is in the environment (`scripts/test
/// long`).
inline std::uint64_t cases(std::uint64_t usual) {
  const std::uint64_t factor = std::getenv("LONG_TESTS") != nullptr ? 20 : 1;
  return factor * usual / sanitizer_divisor;
}

}  // namespace amity::testing
