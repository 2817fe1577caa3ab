/* Polls of the MPI take 2 ms, as where the MPI yields to a program that computes. Ends a job that polls often while it
 * waits for half a second: from MPI_Pcontrol(1) to MPI_Pcontrol(2). Loaded after the drop-in library, which finds the
 * functions of the MPI here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { polls_max = 50 }; /* without rests there are more than 200 */

typedef int iprobe_function(int, int, MPI_Comm, int*, MPI_Status*);

static int polls;

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  ++polls;
  usleep(2000);
  return ((iprobe_function*)dlsym(RTLD_NEXT, "PMPI_Iprobe"))(source, tag, comm, flag, status);
}

int MPI_Pcontrol(const int level, ...) {
  if (level == 1) polls = 0;
  if (level == 2 && (polls == 0 || polls > polls_max)) {
    fprintf(stderr, "%d polls while it waited\n", polls);
    abort();
  }
  return MPI_SUCCESS;
}
