#pragma once

/// What MPI_Pack makes of data types.

#include <cstddef>
#include <vector>

#include <mpi.h>

namespace amity::mpi::testing {

/// Memory on both sides of an address, with arbitrary contents.
class surroundings {
 public:
  explicit surroundings(std::ptrdiff_t bytes);

  std::byte* middle() { return memory_.data() + bytes_; }
  /// Whether items of this type lie inside.
  bool contain(MPI_Datatype type, int count) const;

 private:
  std::ptrdiff_t bytes_;
  std::vector<std::byte> memory_;
};

/// The type must be committed.
std::vector<std::byte> packed_by_mpi(const std::byte* buffer, int count, MPI_Datatype type);

}  // namespace amity::mpi::testing
