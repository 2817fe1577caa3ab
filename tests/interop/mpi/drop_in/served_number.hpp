#pragma once

/// A number of each process in a window, for functions of programs that have no parameter for it. Each process serves
/// what others do there.

#include "program.hpp"

namespace program {

inline MPI_Win numbers = MPI_WIN_NULL;

/// Makes the window of numbers, which are 0. Collective.
inline void make_numbers() {
  static int number = 0;
  MPI_Win_create(&number, sizeof number, sizeof number, MPI_INFO_NULL, MPI_COMM_WORLD, &numbers);
}

/// Adds to the number of the other process of two, in calls that need its help.
inline void increment_there(int times) {
  const int other = 1 - rank();
  for (int i = 0; i < times; ++i) {
    int value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, numbers);
    MPI_Get(&value, 1, MPI_INT, other, 0, 1, MPI_INT, numbers);
    MPI_Win_flush(other, numbers);
    ++value;
    MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, numbers);
    MPI_Win_unlock(other, numbers);
  }
}

inline int number_of(int process) {
  int value = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, process, 0, numbers);
  MPI_Get(&value, 1, MPI_INT, process, 0, 1, MPI_INT, numbers);
  MPI_Win_unlock(process, numbers);
  return value;
}

}  // namespace program
