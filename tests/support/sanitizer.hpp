#pragma once

/// Programs under a sanitizer are many times slower, and need no more repetitions to be looked at; compilers take
/// longer for them, too.

#include <cstdint>

namespace amity::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
inline constexpr std::uint64_t sanitizer_divisor = 20;
#else
inline constexpr bool sanitized = false;
inline constexpr std::uint64_t sanitizer_divisor = 1;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

}  // namespace amity::testing
