/* Ends a job in which the drop-in library calls a blocking collective of the MPI: those of some MPIs do not yield the
 * CPU to the processes that they wait for. Loaded after the drop-in library, which finds the functions of the MPI here.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int refuse(const char* call) {
  fprintf(stderr, "the library calls %s\n", call);
  abort();
}

int PMPI_Allgather(const void* own, int count, MPI_Datatype type, void* all, int count_there, MPI_Datatype type_there,
                   MPI_Comm comm) {
  return refuse("MPI_Allgather");
}

int PMPI_Allgatherv(const void* own, int count, MPI_Datatype type, void* all, const int* counts, const int* places,
                    MPI_Datatype type_there, MPI_Comm comm) {
  return refuse("MPI_Allgatherv");
}

int PMPI_Allreduce(const void* own, void* result, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return refuse("MPI_Allreduce");
}

int PMPI_Barrier(MPI_Comm comm) { return refuse("MPI_Barrier"); }

int PMPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) { return refuse("MPI_Bcast"); }

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return refuse("MPI_Comm_dup"); }

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) { return refuse("MPI_Comm_split"); }
