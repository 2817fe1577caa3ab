#pragma once

/// What active messages need of the machine below, by nothing but the public calls of another OpenSHMEM.

#include <cstddef>
#include <cstdint>

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

  static void put(void* dest, const void* from, std::size_t bytes, int pe) { pshmem_putmem(dest, from, bytes, pe); }

  /// A word is put whole: programs of OpenSHMEM wait for such words.
  static void put_flag(std::uint64_t* dest, std::uint64_t value, int pe) {
    pshmem_fence();
    pshmem_uint64_p(dest, value, pe);
  }

  /// Part of a loop that waits: now and then the other library makes progress. Runs no handler.
  static void rest(unsigned round);

  [[noreturn]] static void fail(const char* call, const char* problem, const char* remedy) {
    addon::fail(call, problem, remedy);
  }
};

}  // namespace amity::shmem::addon
