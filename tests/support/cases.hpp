#pragma once

/// How many cases a random test tries.

#include <cstdint>
#include <cstdlib>

#include "tests/support/sanitizer.hpp"

namespace amity::testing {

/// 20 if LONG_TESTS is in the environment (`scripts/test long`), otherwise 1.
inline unsigned case_factor() { return std::getenv("LONG_TESTS") != nullptr ? 20 : 1; }

/// `usual` cases; fewer under a sanitizer, and more in long tests.
inline std::uint64_t cases(std::uint64_t usual) { return case_factor() * usual / sanitizer_divisor; }

}  // namespace amity::testing
