#pragma once

/// What active messages need of the machine below, on PEs that map one another's memory.
///
/// Whoever puts them over something else offers the same: who is there, zeroed symmetric memory, a put, a word that
/// arrives after all puts to that PE before it, and a rest inside loops that wait.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "amity/interop/shmem/process.hpp"

namespace amity::shmem {

struct node_substrate {
  static int me() noexcept { return self.me; }
  static int pes() noexcept { return self.pes; }

  /// Zeroed, at the same place of all PEs. Collective.
  static void* allocate(std::size_t bytes);

  static void put(void* dest, const void* from, std::size_t bytes, int pe) {
    std::memcpy(reach("shmemx_am_request", static_cast<std::byte*>(dest), pe), from, bytes);
  }

  static void put_flag(std::uint64_t* dest, std::uint64_t value, int pe) {
    // Release; pairs with the acquire of whoever reads the flag.
    std::atomic_ref(*reach("shmemx_am_request", dest, pe)).store(value, std::memory_order_release);
  }

  /// Part of a loop that waits: pauses at first, and yields the CPU after a while. Runs no handler.
  static void rest(unsigned round);

  [[noreturn]] static void fail(const char* call, const char* problem, const char* remedy) {
    shmem::fail(call, problem, remedy);
  }
};

}  // namespace amity::shmem
