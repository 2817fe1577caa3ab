#pragma once

/// What the simulator tells the sanitizers: that control moves to another stack, and which memory is free. Without a
/// sanitizer all of it compiles to nothing.

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AMITY_SIM_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define AMITY_SIM_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define AMITY_SIM_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define AMITY_SIM_THREAD_SANITIZER 1
#endif

#ifdef AMITY_SIM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef AMITY_SIM_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace amity::fabric::sim {

/// Reading or writing `memory` is a mistake from here on.
inline void mark_unusable([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef AMITY_SIM_ADDRESS_SANITIZER
  __asan_poison_memory_region(memory, bytes);
#endif
}

inline void mark_usable([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef AMITY_SIM_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

}  // namespace amity::fabric::sim
