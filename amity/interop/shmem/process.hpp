#pragma once

/// What the functions of OpenSHMEM know without being told: the process that they are called in.
///
/// The C API has no parameter for it, so one object at namespace scope holds it, the only one of amity
/// (docs/decisions/0017-openshmem.md). Nothing else of amity uses it. It is one PE, and its functions are called by one
/// thread at a time, unless the program asks for more.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace amity::shmem {

class job;

/// What to add to an address of this PE's symmetric memory to reach the same object of a peer.
struct peer_distance {
  std::ptrdiff_t heap;
  std::ptrdiff_t statics;
};

/// A range of this PE's addresses.
struct extent {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;

  bool holds(std::uintptr_t address) const noexcept { return address - first < bytes; }
};

enum class phase { before, running, after };

struct process {
  int me = -1;
  int pes = 0;  ///< 0 unless running: every range check of a PE is also the check that there is a job
  extent heap;
  extent statics;
  const peer_distance* peers = nullptr;
  int threads = 2;          ///< SHMEM_THREAD_SERIALIZED, until a program asks for more
  std::uint32_t calls = 0;  ///< of functions too short to make progress each time
  phase now = phase::before;
  job* joined = nullptr;  ///< all that short functions do not need
};

[[gnu::visibility("hidden")]] extern process self;

/// Prints an `error` and ends the job.
[[noreturn, gnu::cold]] void fail(const char* call, const char* problem, const char* remedy);
[[noreturn, gnu::cold]] void fail_outside(const char* call);  ///< before the beginning, or after the end
[[noreturn, gnu::cold]] void fail_pe(const char* call, int pe);
[[noreturn, gnu::cold]] void fail_address(const char* call, const void* address);

/// Runs handlers of active messages, if any are due.
void progress();

inline job& running(const char* call) {
  if (self.joined == nullptr) [[unlikely]]
    fail_outside(call);
  return *self.joined;
}

inline void check_pe(const char* call, int pe) {
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(self.pes)) [[unlikely]]
    fail_pe(call, pe);
}

/// Where this process reaches PE `pe`'s object that is at `address` here.
template <class T>
inline T* reach(const char* call, T* address, int pe) {
  check_pe(call, pe);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (self.heap.holds(at)) [[likely]]
    return reinterpret_cast<T*>(at + static_cast<std::uintptr_t>(self.peers[pe].heap));
  if (!self.statics.holds(at)) [[unlikely]]
    fail_address(call, const_cast<const void*>(static_cast<const volatile void*>(address)));
  return reinterpret_cast<T*>(at + static_cast<std::uintptr_t>(self.peers[pe].statics));
}

/// For functions that take nanoseconds: a program that calls nothing else makes progress, too.
inline void seldom_progress() {
  // Threads may count beside one another: it does not matter whether all of that is seen.
  const std::atomic_ref calls(self.calls);
  const std::uint32_t now = calls.load(std::memory_order_relaxed) + 1;
  calls.store(now, std::memory_order_relaxed);
  if ((now & 15u) == 0) [[unlikely]]
    progress();
}

}  // namespace amity::shmem

/// Defines a function of the API under its profiling name, too, so that a tool may put its own in front.
#define AMITY_SHMEM_DEFINE(Result, name, parameters)                                       \
  extern "C" Result pshmem_##name parameters;                                              \
  extern "C" __attribute__((weak, alias("pshmem_" #name))) Result shmem_##name parameters; \
  extern "C" Result pshmem_##name parameters
