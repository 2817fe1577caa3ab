#pragma once

/// Hints to the processor.

namespace amity {

/// Some moments of rest inside a loop that waits for another core. A reader that looks too often takes the line away
/// from the writer just before what it waits for is complete.
inline void cpu_pause(int moments) noexcept {
  for (int i = 0; i < moments; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }
}

/// Asks for ownership of the cache line at `address`, so that a later store does not wait for it.
inline void prefetch_for_writing(const void* address) noexcept {
#if defined(__x86_64__)
  // The compiler's own prefetch for writing becomes one for reading unless the target names the instruction; processors
  // without it take it for a no-op.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace amity
