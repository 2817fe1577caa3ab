#pragma once

#include "amity/base/types.hpp"

namespace amity::mpi {

/// While this exists, calls of MPI on this thread are not the program's: parts of an MPI (its files, requests of its
/// files) call functions of MPI, and so does a fabric over MPI. They find the MPI's own functions, without progress of
/// windows: the caller may hold locks of the MPI.
class nested_calls : private immovable {
 public:
  nested_calls() noexcept { ++depth; }
  ~nested_calls() { --depth; }
  static bool exist() noexcept { return depth > 0; }

 private:
  // The functions of MPI have no parameter for it.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local int depth = 0;
};

}  // namespace amity::mpi
