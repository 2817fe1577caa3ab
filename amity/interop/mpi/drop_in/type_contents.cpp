#include "amity/interop/mpi/drop_in/type_contents.hpp"

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// What MPI_Type_get_envelope gives, with large counts if the MPI has functions for them.
struct envelope {
  explicit envelope(MPI_Datatype type) {
#if MPI_VERSION >= 4
    check_type_call(native::type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner));
#else
    check_type_call(native::type_get_envelope(type, &integers, &addresses, &types, &combiner));
#endif
  }

#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
#else
  int integers = 0, addresses = 0, large_counts = 0, types = 0;
#endif
  int combiner = 0;
};

/// Functions with large counts make types whose counts are not among the integers. This is the number of integers
/// before them in the order of the arguments.
std::size_t integers_before_large_counts(int combiner) {
  if (combiner == MPI_COMBINER_SUBARRAY) return 1;  // behind the number of dimensions
  if (combiner == MPI_COMBINER_DARRAY) return 3;    // behind the size, the rank and the number of dimensions
  return 0;
}

/// Before MPI-3, functions of Fortran had displacements that were integers. In both MPIs, the number of their combiner
/// is that of the function that replaces them, less 1.
int modern(int combiner) {
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
  if (combiner == MPI_COMBINER_HVECTOR - 1 || combiner == MPI_COMBINER_HINDEXED - 1 ||
      combiner == MPI_COMBINER_STRUCT - 1)
    return combiner + 1;
#endif
  return combiner;
}
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
static_assert(MPI_COMBINER_HVECTOR - 2 == MPI_COMBINER_VECTOR && MPI_COMBINER_HINDEXED - 2 == MPI_COMBINER_INDEXED &&
              MPI_COMBINER_STRUCT - 2 == MPI_COMBINER_INDEXED_BLOCK);
#endif

}  // namespace

void check_type_call(int result) {
  if (result == MPI_SUCCESS) return;
  throw mpi_error(MPI_ERR_TYPE, fmt::format("the MPI does not accept the data type (its error code is {})", result),
                  "pass a data type that has been made, and not been freed");
}

void refuse_combiner(int combiner) {
  throw mpi_error(MPI_ERR_TYPE, fmt::format("the data type was made by an unknown function, combiner {}", combiner),
                  "make it by functions of MPI-4.0 or older");
}

std::size_t size_of(MPI_Datatype type) {
  MPI_Count bytes = 0;
  check_type_call(native::type_size_x(type, &bytes));
  return static_cast<std::size_t>(bytes);
}

type_extent extent_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0, extent = 0;
  check_type_call(native::type_get_extent_x(type, &lower_bound, &extent));
  return {static_cast<std::ptrdiff_t>(lower_bound), static_cast<std::ptrdiff_t>(extent)};
}

type_extent true_extent_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0, extent = 0;
  check_type_call(native::type_get_true_extent_x(type, &lower_bound, &extent));
  return {static_cast<std::ptrdiff_t>(lower_bound), static_cast<std::ptrdiff_t>(extent)};
}

type_contents::type_contents(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL)
    throw mpi_error(MPI_ERR_TYPE, "the data type is MPI_DATATYPE_NULL", "pass a data type that has been made");
  const envelope of(type);
  combiner_ = modern(of.combiner);
  if (is_named()) return;
  std::vector<int> integers(static_cast<std::size_t>(of.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(of.addresses));
  std::vector<MPI_Count> large_counts(static_cast<std::size_t>(of.large_counts));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(of.types));
#if MPI_VERSION >= 4
  check_type_call(native::type_get_contents_c(type, of.integers, of.addresses, of.large_counts, of.types,
                                              integers.data(), addresses.data(), large_counts.data(), types.data()));
#else
  check_type_call(native::type_get_contents(type, of.integers, of.addresses, of.types, integers.data(),
                                            addresses.data(), types.data()));
#endif
  types_ = std::move(types);
  for (const MPI_Datatype each : types_) {
    const int combiner = envelope(each).combiner;
    if (combiner != MPI_COMBINER_NAMED && !is_f90(combiner)) owned_.push_back(each);
  }
  numbers_.assign(integers.begin(), integers.end());
  numbers_.insert(numbers_.end(), addresses.begin(), addresses.end());
  if (large_counts.empty()) return;
  numbers_.insert(numbers_.begin() + static_cast<std::ptrdiff_t>(integers_before_large_counts(combiner_)),
                  large_counts.begin(), large_counts.end());
}

type_contents::~type_contents() {
  for (MPI_Datatype each : owned_) native::type_free(&each);
}

bool type_contents::is_f90(int combiner) noexcept {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace amity::mpi
