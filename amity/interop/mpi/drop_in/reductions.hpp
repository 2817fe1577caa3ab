#pragma once

/// Which operation of a window an MPI operation is on elements of a data type. (MPI-3.1, sections 5.9.2, 5.9.4
/// and 11.3.4.)
///
/// Accepted beyond the standard, as implementations do: arithmetic on MPI_CHAR and MPI_CHARACTER, logical operations on
/// Fortran integers and multi-language types, and MPI_REPLACE and MPI_NO_OP on types of several predefined types.

#include <string_view>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/window/accumulate.hpp"

namespace amity::mpi {

struct reduction {
  accumulate_op op;
  element_type type;
  /// The layout of its operands: `datatype::elements`, or `datatype::data` of a type of several predefined types, whose
  /// elements are bytes.
  const counted_layout* operands;
};

/// Throws `mpi_error` with MPI_ERR_OP if the operation is not predefined, or is not defined on the elements of the
/// type. Any thread.
reduction find_reduction(MPI_Op op, const datatype& type);

/// Throws `mpi_error` with MPI_ERR_ARG if elements of `origin` cannot be combined with those of `target`, because they
/// are of another predefined type. MPI_REPLACE and MPI_NO_OP copy bytes, as implementations do. `name` is that of the
/// parameter. Any thread.
void check_elements(accumulate_op op, const datatype& origin, const datatype& target, std::string_view name);

/// The elements that MPI_Compare_and_swap compares: integers of the size of the type. Throws `mpi_error` with
/// MPI_ERR_TYPE if the function is not defined on the type. Any thread.
element_type find_swapped_element(const datatype& type);

}  // namespace amity::mpi
