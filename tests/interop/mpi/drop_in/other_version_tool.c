/* Lets rank 1 play a process with another version of the library: changes what it says about itself to the others. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include <mpi.h>

typedef int gather(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm, MPI_Request*);

int PMPI_Iallgatherv(const void* mine, int count, MPI_Datatype type, void* all, const int* counts, const int* places,
                     MPI_Datatype type_there, MPI_Comm comm, MPI_Request* request) {
  static const char title[] = "libamity-mpi ";
  static char changed[256]; /* the MPI reads it until the request is complete */
  int rank = 0;
  ((int (*)(MPI_Comm, int*))dlsym(RTLD_NEXT, "PMPI_Comm_rank"))(comm, &rank);
  if (rank == 1 && count >= (int)sizeof title && count <= (int)sizeof changed &&
      memcmp(mine, title, sizeof title - 1) == 0) {
    memcpy(changed, mine, (size_t)count);
    changed[sizeof title - 1] = '9';
    mine = changed;
  }
  return ((gather*)dlsym(RTLD_NEXT, "PMPI_Iallgatherv"))(mine, count, type, all, counts, places, type_there, comm,
                                                         request);
}
