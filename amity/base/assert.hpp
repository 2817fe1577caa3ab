#pragma once

/// Assertions: a failed one is a bug of amity, never of the user.
///
/// `AMITY_ASSERT(condition, values...)` is checked in every build: use it where the check is cheap or off the hot path.
/// `AMITY_DEBUG_ASSERT` is checked in debug and sanitizer builds only. Both print the condition and the values, then
/// abort: state that is known to be wrong must not reach another rank.

#include <sstream>
#include <string>

namespace amity::detail {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line, const std::string& values);

template <class... Values>
[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed_with(const char* condition, const char* file, int line,
                                                                  const Values&... values) {
  std::ostringstream text;
  ((text << ' ' << values), ...);
  assertion_failed(condition, file, line, text.str());
}

}  // namespace amity::detail

#define AMITY_ASSERT(condition, ...)                 \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::amity::detail::assertion_failed_with(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__))

#ifdef NDEBUG
#define AMITY_DEBUG_ASSERT(condition, ...) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define AMITY_DEBUG_ASSERT(condition, ...) AMITY_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
