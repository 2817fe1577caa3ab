#pragma once

/// One-sided operations of MPI as operations of an amity window.

#include <cstddef>
#include <string_view>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/window.hpp"

namespace amity::mpi {

/// Data of this process. `address` is not changed if the operation only reads it.
struct origin_data {
  const void* address;
  MPI_Count count;
  MPI_Datatype type;
};

/// Data in the memory of a member.
struct target_data {
  int rank;
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
};

// Begin an operation, as the functions of MPI with these names. A rank of MPI_PROC_NULL does nothing. Throw `mpi_error`
// or `error`; then nothing has begun. `call` is the name of the function.

void put(std::string_view call, window& on, const origin_data& from, const target_data& to);
void get(std::string_view call, window& on, const origin_data& into, const target_data& from);
/// `result` is null if what was there before is not asked for.
void accumulate(std::string_view call, window& on, const origin_data& operands, const origin_data* result,
                const target_data& to, MPI_Op op);
void fetch_and_op(std::string_view call, window& on, const void* operand, void* result, const target_data& to,
                  MPI_Op op);
void compare_and_swap(std::string_view call, window& on, const void* desired, const void* expected, void* result,
                      const target_data& to);

}  // namespace amity::mpi
