#pragma once

/* The interface between the fabric `mpi` and an MPI library.
 *
 * Each MPI has a module of its own: a shared object that is compiled against the mpi.h of that MPI, is loaded when the
 * fabric is chosen, and returns one table. The table holds what the fabric needs, in terms of C types that are the same
 * for all MPIs; only the module knows the MPI's own types. A module holds no state and calls nothing of amity.
 *
 * Errors of MPI are fatal on all communicators that `copy` has made, so the functions below return results, not errors.
 * Threads: as the thread level of MPI allows.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with the table. A module of another version is refused. */
#define AMITY_MPI_MODULE_VERSION 2u

/* Handles of the MPI as integers: they are pointers in some MPIs, and numbers in others. A request is zero, or
 * `no_request`, before it is passed to a function that starts an operation. */
typedef struct amity_mpi_comm {
  intptr_t value;
} amity_mpi_comm;
typedef struct amity_mpi_request {
  intptr_t value;
} amity_mpi_request;

/* In ascending order, as MPI's constants are. */
enum amity_mpi_thread_level {
  amity_mpi_thread_single,
  amity_mpi_thread_funneled,
  amity_mpi_thread_serialized,
  amity_mpi_thread_multiple
};

/* A message that has been received. */
typedef struct amity_mpi_arrival {
  int source;
  int tag;
  int bytes;
} amity_mpi_arrival;

/* The most requests that `test_some` takes at once. */
#define AMITY_MPI_TEST_SOME_MAX 16

/* A change of the table takes a new version. */
typedef struct amity_mpi_module {
  uint32_t version;   /* AMITY_MPI_MODULE_VERSION */
  const char* family; /* "openmpi" or "mpich": the mpi.h that the module was compiled against */

  amity_mpi_comm world;         /* MPI_COMM_WORLD */
  amity_mpi_comm no_comm;       /* MPI_COMM_NULL */
  amity_mpi_request no_request; /* MPI_REQUEST_NULL */

  /* MPI_Get_library_version itself, as the module is bound to it. The module and the program use the same library if
   * the address is the same in both. The text needs AMITY_MPI_VERSION_BYTES. */
  int (*library_version)(char* text, int* length);

  /* Legal at any time, as the function above. */
  int (*initialized)(void);
  int (*finalized)(void);

  /* Thread levels are those of amity_mpi_thread_level. `init` returns the level that MPI provides. */
  int (*init)(int level);
  void (*finalize)(void);
  int (*thread_level)(void);
  int (*is_main_thread)(void);
  int (*tag_max)(void);

  /* Communicators. `copy` is collective. */
  amity_mpi_comm (*from_fortran)(int handle);
  amity_mpi_comm (*copy)(amity_mpi_comm parent);
  void (*free_comm)(amity_mpi_comm* comm);
  int (*is_intercommunicator)(amity_mpi_comm comm);
  int (*rank)(amity_mpi_comm comm);
  int (*size)(amity_mpi_comm comm);
  void (*abort)(amity_mpi_comm comm, int status);

  /* Collectives. Those that wait yield the CPU while they do. `all_gather` copies `bytes` of each process to `all`, in
   * the order of ranks. `all_max` works in place. `reduce_scatter` sums `values`, one for each process, and returns a
   * request that is complete when `result` holds the sum for this process. */
  void (*all_gather)(const void* own, int bytes, void* all, amity_mpi_comm comm);
  void (*all_max)(int64_t* values, int count, amity_mpi_comm comm);
  void (*reduce_scatter)(const uint64_t* values, uint64_t* result, amity_mpi_comm comm, amity_mpi_request* request);

  /* Messages. `send` returns 1 if the send is complete; otherwise `request` must be tested. `post` receives a message
   * from any source with any tag, and `test_receive` returns 1 when it has arrived. */
  int (*send)(const void* data, int bytes, int dest, int tag, amity_mpi_comm comm, amity_mpi_request* request);
  void (*post)(void* data, int capacity, amity_mpi_comm comm, amity_mpi_request* request);
  int (*test_receive)(amity_mpi_request* request, amity_mpi_arrival* arrival);

  /* Returns 1 if the request is complete, which makes it `no_request`. */
  int (*test)(amity_mpi_request* request);
  /* Tests at most AMITY_MPI_TEST_SOME_MAX requests, none of which is `no_request`. Sets each complete request to
   * `no_request`, and returns their number. */
  int (*test_some)(amity_mpi_request* requests, int count);
  /* Cancels a receive, and waits until it is canceled or complete. */
  void (*cancel)(amity_mpi_request* request);

  /* Empty messages with tag 0. Nothing waits for the send of `notify`. */
  void (*notify)(int dest, amity_mpi_comm comm);
  void (*post_notice)(amity_mpi_comm comm, amity_mpi_request* request);
} amity_mpi_module;

/* At least MPI_MAX_LIBRARY_VERSION_STRING of all MPIs. */
#define AMITY_MPI_VERSION_BYTES 8192

/* The one function of a module. The table lives as long as the module. */
const amity_mpi_module* amity_mpi_get_module(void);
#define AMITY_MPI_GET_MODULE "amity_mpi_get_module"

#ifdef __cplusplus
}
#endif
