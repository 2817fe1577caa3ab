/* A tool as profilers are: it defines functions of MPI, counts their calls, and calls the functions of the MPI. */
#include <mpi.h>

static int barriers, beginnings, puts, receives, splits;

int counted_barriers(void) { return barriers; }
int counted_beginnings(void) { return beginnings; }
int counted_puts(void) { return puts; }
int counted_receives(void) { return receives; }
int counted_splits(void) { return splits; }

int MPI_Init(int* argc, char*** argv) {
  ++beginnings;
  return PMPI_Init(argc, argv);
}

int MPI_Put(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint place, int count_there,
            MPI_Datatype type_there, MPI_Win win) {
  ++puts;
  return PMPI_Put(from, count, type, rank, place, count_there, type_there, win);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  ++receives;
  return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  ++splits;
  return PMPI_Comm_split(comm, color, key, made);
}
