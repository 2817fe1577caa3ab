/// A rank that waits in a call of a window sends messages that it has begun: rank 1 gives its lock back only when a
/// long message of rank 0 has arrived, while rank 0 waits for the lock.

#include <vector>

#include "program.hpp"

int main(int argc, char** argv) {
  const program::session running(argc, argv, 50);
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  constexpr int count = 1 << 22;
  std::vector<int> values(count, program::rank());
  for (int round = 0; round < 3; ++round) {
    if (program::rank() == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    program::step = "MPI_Barrier";
    MPI_Barrier(MPI_COMM_WORLD);
    if (program::rank() == 0) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(values.data(), count, MPI_INT, 1, round, MPI_COMM_WORLD, &request);
      program::step = "MPI_Win_lock";
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      int value = -1;
      MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_unlock(0, win);
      CHECK(value == round);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (program::rank() == 1) {
      program::step = "MPI_Recv";
      MPI_Recv(values.data(), count, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Put(&round, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_unlock(0, win);
    }
  }
  MPI_Win_free(&win);
}
