#pragma once

/// Data types as bytes, for ranks of a job whose processes have the same build of an MPI. Handles have no meaning in
/// other processes.
///
/// The bytes list the type after all types that it is made of. Each type has its combiner, its numbers as
/// `type_contents` has them, and the positions of its parts in the list. Equal types are listed once. A predefined type
/// has its index in `predefined_types` as its number. Numbers have the byte order of the process.

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/made_type.hpp"
#include "amity/interop/mpi/drop_in/predefined_types.hpp"

namespace amity::mpi {

/// How many levels of types of types can be encoded.
inline constexpr int encoded_levels_max = 64;

/// Returns the bytes of a type, which need not be committed. Types have equal bytes if the same functions have made
/// them with the same arguments; functions with large counts are the same as those without. There are about 8 bytes per
/// argument. Reads the contents of all types that it is made of, and calls no function of the program. Throws
/// `mpi_error` with MPI_ERR_TYPE if the type is MPI_DATATYPE_NULL, has more than `encoded_levels_max` levels, contains
/// MPI_LB or MPI_UB, or was made by an unknown function. Any thread.
std::vector<std::byte> encode_type(MPI_Datatype type, const predefined_types& predefined);

/// Makes and commits the type that `encode_type` has encoded, by the same functions (see `make_type`). Returns a
/// predefined type as it is. If the bytes are invalid, throws `mpi_error` and leaves no type: with MPI_ERR_TYPE for an
/// unknown combiner, else with MPI_ERR_INTERN. Any thread.
made_type decode_type(bytes_view encoded, const predefined_types& predefined);

}  // namespace amity::mpi
