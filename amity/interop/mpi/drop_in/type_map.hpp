#pragma once

/// The type map of a data type: which bytes have its data, in which order, and of which predefined types they are.
/// (MPI-3.1, section 4.1.)

#include <cstdint>
#include <optional>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/predefined_types.hpp"
#include "amity/window/layout.hpp"

namespace amity::mpi {

struct type_map {
  /// One element of the type, in the order of the type map. Offsets are relative to the address of a buffer.
  layout data;
  /// What accumulates combine: `data`, but pairs with their padding, so that each is one `value_location`. The same as
  /// `data` if not all parts are pairs.
  layout elements;
  /// If all parts are of predefined types that accumulates do not distinguish.
  std::optional<element_kind> kind;
};

/// Reads a type that the MPI knows, by its own functions. Throws `mpi_error` with MPI_ERR_TYPE if it is not valid.
type_map read_type_map(MPI_Datatype type, const predefined_types& predefined);

}  // namespace amity::mpi
