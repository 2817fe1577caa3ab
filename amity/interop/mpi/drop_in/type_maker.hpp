#pragma once

/// Makes data types from what `type_contents` reports of them.

#include <span>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/made_type.hpp"

namespace amity::mpi {

/// Whether `make_type` has a function for this combiner.
bool can_make_type(int combiner) noexcept;

/// Calls the function of the MPI for `combiner`, one of MPI_COMBINER_* but MPI_COMBINER_NAMED. `numbers` are its
/// arguments in the order of `type_contents::numbers`; `parts` are its types, which the caller may free afterwards. The
/// type is not committed. A function with large counts is called only if a count does not fit the other one. (MPI-4.0,
/// section 5.1.)
///
/// The type has the type map, the bounds and the combiner of the type that the numbers were read from. A duplicate of a
/// predefined type has one more level: it is a duplicate of one contiguous element, because MPI_Type_dup would call the
/// program's functions that copy attributes of predefined types.
///
/// Throws `mpi_error`: with MPI_ERR_TYPE for an unknown combiner, and with MPI_ERR_INTERN for numbers that the function
/// does not permit, or for a type of more than 2^62 bytes. It then does not call the MPI, which would call the
/// program's error handler. Only a precision of Fortran is left to the MPI: if the MPI lacks it, the error handler is
/// called, and the error has the class that the MPI returns. Any thread.
made_type make_type(int combiner, std::span<const MPI_Count> numbers, std::span<const MPI_Datatype> parts);

}  // namespace amity::mpi
