#pragma once

/// Error handlers of MPI's C++ bindings, as MPICH has them: the bindings call the handler of an object if a function of
/// C returns an error. So a function whose error has reached such a handler already returns MPI_SUCCESS, in MPICH and
/// in this library.

#include <cstdint>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// Counts handlers of the C++ bindings that the MPI calls on this thread while this exists.
class cxx_handler_calls : private immovable {
 public:
  cxx_handler_calls() noexcept : before_(calls) {}
  bool any() const noexcept { return calls != before_; }

  /// The MPI calls one.
  static void count() noexcept { ++calls; }

 private:
  // The MPI passes nothing of the caller to a handler.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local std::uint64_t calls = 0;

  std::uint64_t before_;
};

}  // namespace amity::mpi
