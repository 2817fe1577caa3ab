/* Polls of the MPI take 2 ms, as where the MPI yields to a program that computes. Ends a job that polls often while it
 * waits for 0.3 s, from MPI_Pcontrol(1) to MPI_Pcontrol(2), or that has never polled at MPI_Pcontrol(3). Loaded after
 * the drop-in library, which finds the functions of the MPI here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int iprobe_function(int, int, MPI_Comm, int*, MPI_Status*);

static int polls, all_polls;
static double begin;

/* Without rests, a wait of 0.3 s has more than 100 polls. */
static int too_many(void) { return polls > 20 + 40 * (MPI_Wtime() - begin); }

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  ++polls;
  usleep(2000);
  return ((iprobe_function*)dlsym(RTLD_NEXT, "PMPI_Iprobe"))(source, tag, comm, flag, status);
}

int MPI_Pcontrol(const int level, ...) {
  if (level == 1) {
    polls = 0;
    begin = MPI_Wtime();
  }
  if (level == 2) all_polls += polls;
  if ((level == 2 && too_many()) || (level == 3 && all_polls == 0)) {
    fprintf(stderr, "%d polls in %f s\n", polls, MPI_Wtime() - begin);
    abort();
  }
  return MPI_SUCCESS;
}
