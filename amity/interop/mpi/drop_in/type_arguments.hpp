#pragma once

/// The numbers that a data type was made with, as `type_contents` has them.

#include <cstddef>
#include <span>
#include <utility>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {

/// Reads one argument after the other. Throws `mpi_error` with MPI_ERR_INTERN if there are too few of them.
class type_arguments {
 public:
  explicit type_arguments(std::span<const MPI_Count> numbers) noexcept : rest_(numbers) {}

  MPI_Count next() { return list(1).front(); }
  std::span<const MPI_Count> list(MPI_Count count) {
    if (count < 0 || std::cmp_greater(count, rest_.size()))
      throw mpi_error(MPI_ERR_INTERN, "a data type has too few arguments", "report this to amity");
    const auto found = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(found.size());
    return found;
  }
  bool is_at_end() const noexcept { return rest_.empty(); }

 private:
  std::span<const MPI_Count> rest_;
};

}  // namespace amity::mpi
