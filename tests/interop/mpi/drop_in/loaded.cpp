// A shared library that uses MPI, as an interpreter loads it.

#include "program.hpp"

namespace {

bool has_attributes(MPI_Win win) {
  int key = MPI_KEYVAL_INVALID, value = 0, is_there = 0;
  void* found = nullptr;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, nullptr);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  if (MPI_Win_set_attr(win, key, &value) != MPI_SUCCESS) return false;
  MPI_Win_get_attr(win, key, &found, &is_there);
  const bool is_found = is_there != 0 && found == &value;
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &found, &is_there);
  MPI_Win_free_keyval(&key);
  return is_found && is_there != 0 && *static_cast<const int*>(found) == sizeof(int);
}

}  // namespace

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
  const bool is_right = *memory == program::previous() && has_attributes(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
