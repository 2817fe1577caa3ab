#pragma once

/// What tests of data types watch in an MPI.

#include <cstddef>

#include <mpi.h>

namespace amity::mpi::testing {

/// The types that the MPI has at this time. Two that are equal mean that few or no types were left in between: Open MPI
/// may have 30 more of them. What was done in between must have been done before, too, because the MPI keeps memory.
class live_types {
 public:
  live_types();
  bool operator==(const live_types& other) const;

 private:
  unsigned highest_ = 0;          ///< handle
  std::size_t bytes_in_use_ = 0;  ///< of the heap
};

/// Counts errors that the MPI reports to error handlers of MPI_COMM_WORLD and MPI_COMM_SELF, while it exists.
class counted_errors {
 public:
  counted_errors();
  ~counted_errors();
  counted_errors(const counted_errors&) = delete;
  int count() const;

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace amity::mpi::testing
