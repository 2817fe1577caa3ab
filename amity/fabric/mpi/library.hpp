#pragma once

/// The C interface of MPI, without the C++ bindings that some MPIs still add to it, and what it means to be in it.

#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::fabric::mpi {

/// MPI while this object lives. Initialises it unless somebody has done so, and then finalises it, too.
class library_use {
 public:
  /// For a process with so many threads of amity. Throws `error` as `job::of_launcher` says.
  explicit library_use(rank_t threads);
  ~library_use();
  library_use(const library_use&) = delete;
  library_use& operator=(const library_use&) = delete;

 private:
  bool own_ = false;
};

/// Throws `error` if a launcher has started several processes of which this MPI sees only one.
void check_launcher();

}  // namespace amity::fabric::mpi
