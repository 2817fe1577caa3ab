#pragma once

/// What the functions of OpenSHMEM know without being told: the process that they are called in.
///
/// The C API has no parameter for it, so one object at namespace scope holds it, the only one of amity
/// (docs/decisions/0017-openshmem.md). Nothing else of amity uses it. It is one PE, and its functions are called by one
/// thread at a time, unless the program asks for more.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "amity/interop/shmem/am/every.hpp"

namespace amity::shmem {

class job;
class far_memory;

/// What to add to an address of this PE's symmetric memory to reach the same object of a peer, and how much of that is
/// mapped: all, or nothing where the peer is on another node.
struct peer_memory {
  std::ptrdiff_t heap = 0;
  std::size_t heap_bytes = 0;
  std::ptrdiff_t statics = 0;
  std::size_t statics_bytes = 0;
};

/// A range of this PE's addresses.
struct extent {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;

  bool holds(std::uintptr_t address) const noexcept { return address - first < bytes; }
  /// Of an address that it holds: how many there are from it on.
  std::size_t bytes_from(const volatile void* address) const noexcept {
    return bytes - (reinterpret_cast<std::uintptr_t>(address) - first);
  }
};

enum class phase { before, running, after };

struct process {
  int me = -1;
  int pes = 0;  ///< 0 unless running: every range check of a PE is also the check that there is a job
  extent heap;
  extent statics;
  const peer_memory* peers = nullptr;
  far_memory* far = nullptr;  ///< the way to PEs that are not mapped; null: there are none
  int threads = 2;            ///< SHMEM_THREAD_SERIALIZED, until a program asks for more
  every<16> calls;            ///< of functions too short to make progress each time
  std::uint32_t drawn = 0;    ///< where the last search for any of several variables began
  phase now = phase::before;
  std::uint64_t stall_ns = 0;  ///< a wait that lasts so long without progress is told of; 0: none
  int pid = 0;                 ///< of the process that has begun: its children see this object, and are no PEs
  job* joined = nullptr;       ///< all that short functions do not need

  /// Where a symmetric address is.
  const extent& memory_of(std::uintptr_t address) const noexcept { return heap.holds(address) ? heap : statics; }
};

[[gnu::visibility("hidden")]] extern process self;

/// Prints an `error` and ends the job.
[[noreturn, gnu::cold]] void fail(const char* call, const char* problem, const char* remedy);
[[noreturn, gnu::cold]] void fail_outside(const char* call);  ///< before the beginning, or after the end
[[noreturn, gnu::cold]] void fail_pe(const char* call, int pe, int pes = self.pes);  ///< of so many
[[noreturn, gnu::cold]] void fail_address(const char* call, const void* address);
[[noreturn, gnu::cold]] void fail_length(const char* call, const void* address, std::size_t bytes);

/// Tells that this PE has waited for long: "no progress for 30 s in ", and then what it waits for.
[[gnu::cold]] void report_stall(double seconds, std::string_view waits_for);

/// Of `count` elements of `bytes`; the most that there can be, which no memory has, where they are more.
constexpr std::size_t bytes_of(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  return __builtin_mul_overflow(count, bytes, &all) ? SIZE_MAX : all;
}

/// From the first byte to the last of `count` elements, more than none, with a stride in elements. Ends the job where
/// that is below 1, or no memory has so many.
std::size_t strided_bytes(const char* call, std::size_t count, std::ptrdiff_t stride, std::size_t bytes);

/// Runs handlers of active messages, if any are due, and there is a job.
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

/// Ends the job where an address that no mapped memory holds is not symmetric either.
[[gnu::cold]] void check_far(const char* call, const volatile void* address);

/// Where this process reaches PE `pe`'s object that is at `address` here; null: nowhere, the way to it is `self.far`.
template <class T>
[[gnu::always_inline]] inline T* reach(const char* call, T* address, int pe) {
  check_pe(call, pe);
  const peer_memory& there = self.peers[pe];
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::uintptr_t found = 0;
  if (at - self.heap.first < there.heap_bytes) [[likely]] {
    found = at + static_cast<std::uintptr_t>(there.heap);
  } else if (at - self.statics.first < there.statics_bytes) {
    found = at + static_cast<std::uintptr_t>(there.statics);
  } else {
    check_far(call, address);
    return nullptr;
  }
  if (found == 0) __builtin_unreachable();  // so that callers need not look
  return reinterpret_cast<T*>(found);
}

/// The same for an object of so many bytes. Ends the job where it does not end in the memory that it begins in.
template <class T>
[[gnu::always_inline]] inline T* reach(const char* call, T* address, std::size_t bytes, int pe) {
  T* const found = reach(call, address, pe);
  if (bytes > self.memory_of(reinterpret_cast<std::uintptr_t>(address)).bytes_from(address)) [[unlikely]]
    fail_length(call, address, bytes);
  return found;
}

/// For functions that take nanoseconds: a program that calls nothing else makes progress, too.
[[gnu::always_inline]] inline void seldom_progress() {
  if (self.calls.is_due()) [[unlikely]]
    progress();
}

/// For functions that look for messages often, but not at the network.
inline void seldom_network_progress() {
  if (self.far != nullptr) [[unlikely]]
    seldom_progress();
}

}  // namespace amity::shmem

/// Defines a function of the API under its profiling name, too, so that a tool may put its own in front.
#define AMITY_SHMEM_DEFINE(Result, name, parameters)                                       \
  extern "C" Result pshmem_##name parameters;                                              \
  extern "C" __attribute__((weak, alias("pshmem_" #name))) Result shmem_##name parameters; \
  extern "C" Result pshmem_##name parameters
