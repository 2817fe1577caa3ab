#pragma once

/// What active messages need of the machine below, by nothing but the public calls of another OpenSHMEM: stores where
/// its shmem_ptr has an address for a peer's memory, puts elsewhere.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "amity/base/function_ref.hpp"
#include "amity/interop/shmem/addon/process.hpp"
#include "amity/interop/shmem/addon/profiling.hpp"

AMITY_SHMEM_PROFILING(fence);
AMITY_SHMEM_PROFILING(putmem);
AMITY_SHMEM_PROFILING(uint64_p);

namespace amity::shmem::addon {

struct public_substrate {
  static int me() noexcept { return self.me; }
  static int pes() noexcept { return self.pes; }

  /// Zeroed lines, at the same place of all PEs. Collective.
  static void* allocate(std::size_t bytes);

  static void put(void* dest, const void* from, std::size_t bytes, int pe) {
    if (void* const there = reach(dest, pe)) [[likely]] {
      std::memcpy(there, from, bytes);
    } else {
      pshmem_putmem(dest, from, bytes, pe);
    }
  }

  static void put_flag(std::uint64_t* dest, std::uint64_t value, int pe) {
    if (std::uint64_t* const there = reach(dest, pe)) [[likely]] {
      // Release; pairs with the acquire of whoever reads the flag.
      std::atomic_ref(*there).store(value, std::memory_order_release);
      return;
    }
    // A word is put whole: programs of OpenSHMEM wait for such words. The fence of the library orders puts; this one
    // puts what the PE has read and written itself before them.
    std::atomic_thread_fence(std::memory_order_release);
    pshmem_fence();
    pshmem_uint64_p(dest, value, pe);
  }

  /// A peer's own one of such an object. All PEs must be mapped.
  template <class T>
  static const T& see(const T& own, int pe) {
    return *at_distance(&own, self.peers[pe].distance);
  }

  /// Waits until `done()` returns true. Meanwhile messages are handled. A report of a stall says what it waits for:
  /// `what`, followed by `pe` unless that is -1.
  static void wait(function_ref<bool()> done, const char* what, int pe);

  [[noreturn]] static void fail(const char* call, const char* problem, const char* remedy) {
    addon::fail(call, problem, remedy);
  }

 private:
  /// The object of `pe` that is at `address` here; null: it is not mapped.
  template <class T>
  static T* reach(T* address, int pe) noexcept {
    const peer_memory& there = self.peers[pe];
    if (!there.mapped) [[unlikely]]
      return nullptr;
    return at_distance(address, there.distance);
  }
  template <class T>
  static T* at_distance(T* address, std::ptrdiff_t distance) noexcept {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(distance));
  }
};

}  // namespace amity::shmem::addon
