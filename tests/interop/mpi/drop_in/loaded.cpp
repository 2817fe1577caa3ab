// A shared library that uses MPI, as an interpreter loads it.

#include "program.hpp"

/// Runs a program of MPI; 0: it has succeeded.
extern "C" __attribute__((visibility("default"))) int use_windows() {
  MPI_Init(nullptr, nullptr);
  program::watch(60);
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = -1;
  const int own = program::rank();
  MPI_Win_fence(0, win);
  MPI_Put(&own, 1, MPI_INT, program::next(), 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  const bool is_right = *memory == program::previous();
  MPI_Win_free(&win);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
