#pragma once

#include <utility>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// While this exists, calls of MPI on this thread are not the program's: parts of an MPI (its files, requests of its
/// files) call functions of MPI, and so does a fabric over MPI. They find the MPI's own functions, without progress of
/// windows: the caller may hold locks of the MPI.
class nested_calls : private immovable {
 public:
  class program_code;

  nested_calls() noexcept { ++depth; }
  ~nested_calls() { --depth; }
  static bool exist() noexcept { return depth > 0; }

 private:
  // The functions of MPI have no parameter for it.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local int depth = 0;
};

/// While this exists, a function of the program runs that the MPI has called: calls of MPI are the program's again.
class nested_calls::program_code : private immovable {
 public:
  program_code() noexcept : depth_(std::exchange(depth, 0)) {}
  ~program_code() { depth = depth_; }

 private:
  int depth_;
};

}  // namespace amity::mpi
