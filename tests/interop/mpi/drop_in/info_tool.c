/* Counts how often the drop-in library reads from info objects. Programs call the functions MPI_X of the MPI, and the
 * library PMPI_X. */

#define _GNU_SOURCE
#include <dlfcn.h>

#include <mpi.h>

static long reads;

long take_info_reads(void) {
  const long taken = reads;
  reads = 0;
  return taken;
}

int PMPI_Info_get(MPI_Info info, const char* key, int length, char* value, int* found) {
  ++reads;
  return ((int (*)(MPI_Info, const char*, int, char*, int*))dlsym(RTLD_NEXT, "PMPI_Info_get"))(info, key, length, value,
                                                                                               found);
}

int PMPI_Info_get_nthkey(MPI_Info info, int number, char* key) {
  ++reads;
  return ((int (*)(MPI_Info, int, char*))dlsym(RTLD_NEXT, "PMPI_Info_get_nthkey"))(info, number, key);
}

int PMPI_Info_get_valuelen(MPI_Info info, const char* key, int* length, int* found) {
  ++reads;
  return ((int (*)(MPI_Info, const char*, int*, int*))dlsym(RTLD_NEXT, "PMPI_Info_get_valuelen"))(info, key, length,
                                                                                                  found);
}

int PMPI_Info_get_string(MPI_Info info, const char* key, int* bytes, char* value, int* found) {
  ++reads;
  return ((int (*)(MPI_Info, const char*, int*, char*, int*))dlsym(RTLD_NEXT, "PMPI_Info_get_string"))(info, key, bytes,
                                                                                                       value, found);
}
