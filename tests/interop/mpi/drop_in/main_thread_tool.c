/* Ends a job whose MPI is polled on another thread than the main one: a program with one thread must not see others in
 * its MPI. Loaded after the drop-in library, which finds the functions of the MPI here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int iprobe_function(int, int, MPI_Comm, int*, MPI_Status*);

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (gettid() != getpid()) {
    fprintf(stderr, "MPI_Iprobe on a thread that is not the main one\n");
    abort();
  }
  return ((iprobe_function*)dlsym(RTLD_NEXT, "PMPI_Iprobe"))(source, tag, comm, flag, status);
}
