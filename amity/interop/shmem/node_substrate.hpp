#pragma once

/// What active messages need of the machine below: stores where a PE's memory is mapped, packets elsewhere.
///
/// Whoever puts them over something else offers the same: who is there, zeroed symmetric memory, a put, a word that
/// arrives after all puts to that PE before it, a look at what mapped peers show, and a wait.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "amity/base/function_ref.hpp"
#include "amity/interop/shmem/process.hpp"

namespace amity::shmem {

struct node_substrate {
  static int me() noexcept { return self.me; }
  static int pes() noexcept { return self.pes; }

  /// Zeroed, at the same place of all PEs. Collective.
  static void* allocate(std::size_t bytes);

  static void put(void* dest, const void* from, std::size_t bytes, int pe) {
    std::byte* const there = reach("shmemx_am_request", static_cast<std::byte*>(dest), pe);
    if (there == nullptr) [[unlikely]]
      return put_far(dest, from, bytes, pe);
    std::memcpy(there, from, bytes);
  }

  static void put_flag(std::uint64_t* dest, std::uint64_t value, int pe) {
    std::uint64_t* const there = reach("shmemx_am_request", dest, pe);
    if (there == nullptr) [[unlikely]] {
      put_far(dest, &value, sizeof value, pe);
      return send_far(pe);
    }
    // Release; pairs with the acquire of whoever reads the flag.
    std::atomic_ref(*there).store(value, std::memory_order_release);
  }

  /// A peer's own one of such an object. All PEs must be mapped.
  template <class T>
  static const T& see(const T& own, int pe) {
    return *reach("shmem_barrier_all", &own, pe);
  }

  /// Waits until `done()` returns true. Meanwhile messages are handled. A report of a stall says what it waits for:
  /// `what`, followed by `pe` unless that is -1.
  static void wait(function_ref<bool()> done, const char* what, int pe);

  [[noreturn]] static void fail(const char* call, const char* problem, const char* remedy) {
    shmem::fail(call, problem, remedy);
  }

 private:
  // What belongs to a flag travels with it.
  static void put_far(void* dest, const void* from, std::size_t bytes, int pe);
  static void send_far(int pe);
};

}  // namespace amity::shmem
