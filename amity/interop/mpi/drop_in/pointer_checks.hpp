#pragma once

/// Checks of pointers that the program passes. The classes of the errors are those of MPICH.

#include <cstddef>
#include <string_view>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {

/// Throws `mpi_error` with MPI_ERR_ARG for a null pointer. `name` is that of the parameter.
inline void check_pointer(const void* given, std::string_view name) {
  if (given != nullptr) [[likely]]
    return;
  throw mpi_error(MPI_ERR_ARG, fmt::format("{} is a null pointer", name), "pass the address of a variable or array");
}

/// Throws `mpi_error` with MPI_ERR_BUFFER for `count` items of data at a null pointer. MPI_BOTTOM, which is one, is
/// right for types whose data begins elsewhere.
inline void check_buffer(const void* address, const counted_layout& items, MPI_Count count, std::string_view name) {
  if (address != nullptr || count <= 0 || items.bytes() == 0 || items.first() != 0) [[likely]]
    return;
  throw mpi_error(MPI_ERR_BUFFER, fmt::format("{} is a null pointer, for {} elements", name, count),
                  "pass the address of the data, or MPI_BOTTOM and a type of absolute addresses");
}

/// Throws `mpi_error` with `error_class` if the process has no memory at the first or the last of `bytes` > 0 bytes: a
/// size that is not possible would end processes that use the memory. Two calls of the system.
void check_mapped(const void* address, std::size_t bytes, int error_class);

}  // namespace amity::mpi
