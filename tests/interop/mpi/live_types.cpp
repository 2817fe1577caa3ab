#include "tests/interop/mpi/live_types.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace amity::mpi::testing {
namespace {

// A function for errors has no parameter for it.
std::atomic<int> errors{0};

void count_error(MPI_Comm*, int*, ...) { ++errors; }

}  // namespace

// MPICH takes numbers of handles that were freed before it takes higher ones. Open MPI has each type in the heap.
// (MPICH 4.0.2 does not survive 800 types.)
live_types::live_types() {
  std::array<MPI_Datatype, 400> types;
  for (MPI_Datatype& each : types) {
    MPI_Type_contiguous(1, MPI_CHAR, &each);
    highest_ = std::max(highest_, static_cast<unsigned>(MPI_Type_c2f(each)));
  }
  for (MPI_Datatype& each : types) MPI_Type_free(&each);
  bytes_in_use_ = ::mallinfo2().uordblks;
}

bool live_types::operator==(const live_types& other) const {
#ifdef OPEN_MPI
  constexpr std::size_t tolerance = 16 << 10;
  return std::max(bytes_in_use_, other.bytes_in_use_) - std::min(bytes_in_use_, other.bytes_in_use_) < tolerance;
#else
  return highest_ == other.highest_;
#endif
}

counted_errors::counted_errors() {
  errors = 0;
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_error, &counting);
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, counting);
  MPI_Errhandler_free(&counting);
}

counted_errors::~counted_errors() {
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
}

int counted_errors::count() const { return errors; }

}  // namespace amity::mpi::testing
