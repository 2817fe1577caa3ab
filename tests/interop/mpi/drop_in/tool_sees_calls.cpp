/// A tool in the process sees each call of the program once, and the calls serve windows all the same: rank 1 puts
/// while rank 0 is in them.

#include <dlfcn.h>

#include "program.hpp"

namespace {

int counted(const char* name) {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  CHECK(found != nullptr);
  return reinterpret_cast<int (*)()>(found)();
}

void put(int value, MPI_Win win) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv, 50);
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  const int barriers = counted("counted_barriers"), receives = counted("counted_receives");
  const int splits = counted("counted_splits");

  CHECK(counted("counted_beginnings") == 1);

  program::step = "MPI_Barrier";
  if (program::rank() == 1) put(1, win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(counted("counted_barriers") == barriers + 1);

  program::step = "MPI_Recv";
  int value = 0;
  if (program::rank() == 1) {
    put(2, win);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else if (program::rank() == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(counted("counted_receives") == receives + 1);
  }

  program::step = "MPI_Comm_split";
  MPI_Comm made = MPI_COMM_NULL;
  if (program::rank() == 1) put(3, win);
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made);
  CHECK(counted("counted_splits") == splits + 1);
  CHECK(counted("counted_puts") == (program::rank() == 1 ? 3 : 0));
  MPI_Comm_free(&made);
  MPI_Win_free(&win);
}
