#pragma once

/// How data types were made, as the MPI reports it.

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// Throws `mpi_error` if a function of the MPI has failed: MPI_ERR_TYPE, as the argument of all these calls is a type.
void check_type_call(int result);
/// Throws `mpi_error` with MPI_ERR_TYPE: the function that has made a type is not known here.
[[noreturn]] void refuse_combiner(int combiner);

/// MPI_Type_size.
std::size_t size_of(MPI_Datatype type);

struct type_extent {
  std::ptrdiff_t lower_bound;
  std::ptrdiff_t extent;
};
/// MPI_Type_get_extent.
type_extent extent_of(MPI_Datatype type);
/// MPI_Type_get_true_extent.
type_extent true_extent_of(MPI_Datatype type);

/// The results of MPI_Type_get_envelope and MPI_Type_get_contents.
class type_contents : immovable {
 public:
  /// Throws `mpi_error` with MPI_ERR_TYPE if the type is MPI_DATATYPE_NULL, or not valid.
  explicit type_contents(MPI_Datatype type);
  ~type_contents();

  /// One of MPI_COMBINER_*. The combiners of old Fortran functions with integer displacements are replaced by those of
  /// the functions that they have become.
  int combiner() const noexcept { return combiner_; }
  /// The type has no contents: it is a predefined one with a name.
  bool is_named() const noexcept { return combiner_ == MPI_COMBINER_NAMED; }
  /// The type is a predefined one without a name, for a precision that a Fortran program has requested.
  bool is_f90() const noexcept { return is_f90(combiner_); }
  /// One of both: such a type is committed and is never freed.
  bool is_predefined() const noexcept { return is_named() || is_f90(); }

  /// All integers, counts and displacements, in the order in which the function that made the type has them as
  /// arguments.
  const std::vector<MPI_Count>& numbers() const noexcept { return numbers_; }
  const std::vector<MPI_Datatype>& types() const noexcept { return types_; }

 private:
  static bool is_f90(int combiner) noexcept;

  int combiner_ = 0;
  std::vector<MPI_Count> numbers_;
  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Datatype> owned_;  ///< those of `types_` that must be freed
};

}  // namespace amity::mpi
