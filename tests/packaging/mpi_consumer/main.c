/* A program of MPI: each process puts a number into the window of the next one. Fails unless it runs as so many
   processes as its argument says. */

#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, *memory, right;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  right = *memory == (rank + size - 1) % size;
  MPI_Win_free(&win);
  MPI_Finalize();
  return argc > 1 && size == atoi(argv[1]) && right ? 0 : 1;
}
