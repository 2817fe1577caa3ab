/* A program of MPI in C99: each process asks the next one for its number by an active message. Fails unless it runs as
   so many processes as its argument says. */

#include <mpix_am.h>
#include <stdlib.h>

static void read_number(const void* input, int input_count, MPI_Datatype input_type, void* persistent,
                        int persistent_count, MPI_Datatype persistent_type, void* output, int output_count,
                        MPI_Datatype output_type, int segments) {
  int i;
  (void)input, (void)input_count, (void)input_type, (void)persistent_count, (void)persistent_type, (void)output_count;
  (void)output_type;
  for (i = 0; i < segments; ++i) ((int*)output)[i] = *(const int*)persistent;
}

int main(int argc, char** argv) {
  int rank, size, *memory, number = -1, next;
  MPI_Win win;
  MPIX_Am_op op;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  MPIX_Am_op_create(read_number, MPI_COMM_WORLD, &op);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 10 + rank;
  MPI_Win_fence(0, win);
  MPIX_Am(NULL, 0, MPI_INT, &number, 1, MPI_INT, 1, next, 0, MPI_INT, 0, 1, MPI_INT, 1, MPI_INT, op, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPIX_Am_op_free(&op);
  MPI_Finalize();
  return argc > 1 && size == atoi(argv[1]) && number == 10 + next && op == MPIX_AM_OP_NULL ? 0 : 1;
}
