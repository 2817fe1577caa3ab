/// Functions of MPI that begin and end its use. (MPI-3.1, section 8.7.)

#include <cstdio>
#include <exception>

#include "amity/base/error.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"

namespace amity::mpi {
namespace {

/// If the library cannot begin, the job ends: either all processes use it, or none.
void begin() {
  int threads = MPI_THREAD_SINGLE;
  native::query_thread(&threads);
  try {
    drop_in::start(threads);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    native::abort(MPI_COMM_WORLD, 1);
  }
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int code = native::init(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = native::init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int MPI_Finalize() {
  drop_in::end();
  return native::finalize();
}

}  // extern "C"

AMITY_MPI_EXPORT(Init)
AMITY_MPI_EXPORT(Init_thread)
AMITY_MPI_EXPORT(Finalize)
