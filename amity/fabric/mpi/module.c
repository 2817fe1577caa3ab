#include "amity/fabric/mpi/module.h"

#include <mpi.h>
#include <sched.h>
#include <stddef.h>

#if MPI_MAX_LIBRARY_VERSION_STRING > AMITY_MPI_VERSION_BYTES
#error "AMITY_MPI_VERSION_BYTES is too small for this MPI"
#endif

static amity_mpi_comm comm_of(MPI_Comm native) {
  amity_mpi_comm comm = {(intptr_t)native};
  return comm;
}
static MPI_Comm native_comm(amity_mpi_comm comm) { return (MPI_Comm)comm.value; }

/* MPI reads and writes requests in place. Those that are numbers take the low bytes of the integer, whose other bytes
 * are zero from the start. */
_Static_assert(sizeof(MPI_Request) == sizeof(intptr_t) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "requests of this MPI need a conversion");
static MPI_Request* native_request(amity_mpi_request* request) { return (MPI_Request*)request; }

/* Blocking collectives of an MPI need not yield, and those of MPICH do not: with more processes than CPUs, each would
 * keep its CPU for a time slice, so that the process that it waits for cannot run. */
static void finish(MPI_Request* request) {
  int done = 0;
  for (;;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    sched_yield();
  }
}

static int initialized(void) {
  int yes = 0;
  MPI_Initialized(&yes);
  return yes;
}

static int finalized(void) {
  int yes = 0;
  MPI_Finalized(&yes);
  return yes;
}

static int level_of(int native) {
  if (native >= MPI_THREAD_MULTIPLE) return amity_mpi_thread_multiple;
  if (native >= MPI_THREAD_SERIALIZED) return amity_mpi_thread_serialized;
  return native >= MPI_THREAD_FUNNELED ? amity_mpi_thread_funneled : amity_mpi_thread_single;
}

static int init(int level) {
  static const int native[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(NULL, NULL, native[level], &provided);
  return level_of(provided);
}

static void finalize(void) { MPI_Finalize(); }

static int thread_level(void) {
  int native = MPI_THREAD_SINGLE;
  MPI_Query_thread(&native);
  return level_of(native);
}

static int is_main_thread(void) {
  int yes = 0;
  MPI_Is_thread_main(&yes);
  return yes;
}

static int tag_max(void) {
  void* value = NULL;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  return found ? *(int*)value : 32767; /* the least that the standard allows */
}

static amity_mpi_comm from_fortran(int handle) { return comm_of(MPI_Comm_f2c((MPI_Fint)handle)); }

static amity_mpi_comm copy(amity_mpi_comm parent) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(native_comm(parent), &made, &request);
  finish(&request);
  /* The error handler of the program's communicator is for the program's calls. */
  MPI_Comm_set_errhandler(made, MPI_ERRORS_ARE_FATAL);
  return comm_of(made);
}

static void free_comm(amity_mpi_comm* comm) {
  MPI_Comm native = native_comm(*comm);
  MPI_Comm_free(&native);
  *comm = comm_of(native);
}

static int is_intercommunicator(amity_mpi_comm comm) {
  int yes = 0;
  MPI_Comm_test_inter(native_comm(comm), &yes);
  return yes;
}

static int rank(amity_mpi_comm comm) {
  int number = 0;
  MPI_Comm_rank(native_comm(comm), &number);
  return number;
}

static int size(amity_mpi_comm comm) {
  int number = 0;
  MPI_Comm_size(native_comm(comm), &number);
  return number;
}

static void abort_job(amity_mpi_comm comm, int status) { MPI_Abort(native_comm(comm), status); }

static void all_gather(const void* own, int bytes, void* all, amity_mpi_comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, native_comm(comm), &request);
  finish(&request);
}

static void all_max(int64_t* values, int count, amity_mpi_comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, native_comm(comm), &request);
  finish(&request);
}

static void reduce_scatter(const uint64_t* values, uint64_t* result, amity_mpi_comm comm, amity_mpi_request* request) {
  MPI_Ireduce_scatter_block(values, result, 1, MPI_UINT64_T, MPI_SUM, native_comm(comm), native_request(request));
}

static int test(amity_mpi_request* request) {
  int done = 0;
  MPI_Test(native_request(request), &done, MPI_STATUS_IGNORE);
  return done;
}

static int send(const void* data, int bytes, int dest, int tag, amity_mpi_comm comm, amity_mpi_request* request) {
  int done = 0;
  MPI_Isend(data, bytes, MPI_BYTE, dest, tag, native_comm(comm), native_request(request));
  MPI_Test(native_request(request), &done, MPI_STATUS_IGNORE);
  return done;
}

static void post(void* data, int capacity, amity_mpi_comm comm, amity_mpi_request* request) {
  MPI_Irecv(data, capacity, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, native_comm(comm), native_request(request));
}

static int test_receive(amity_mpi_request* request, amity_mpi_arrival* arrival) {
  int done = 0;
  MPI_Status status;
  MPI_Test(native_request(request), &done, &status);
  if (!done) return 0;
  arrival->source = status.MPI_SOURCE;
  arrival->tag = status.MPI_TAG;
  MPI_Get_count(&status, MPI_BYTE, &arrival->bytes);
  return 1;
}

static int test_some(amity_mpi_request* requests, int count) {
  int done = 0;
  int which[AMITY_MPI_TEST_SOME_MAX];
  MPI_Request native[AMITY_MPI_TEST_SOME_MAX];
  /* Not MPI_STATUSES_IGNORE: GCC rejects it, because the header of MPICH declares how many bytes are written. */
  MPI_Status statuses[AMITY_MPI_TEST_SOME_MAX];
  for (int i = 0; i < count; ++i) native[i] = *native_request(&requests[i]);
  MPI_Testsome(count, native, &done, which, statuses);
  if (done == MPI_UNDEFINED) return 0;
  for (int i = 0; i < done; ++i) *native_request(&requests[which[i]]) = MPI_REQUEST_NULL;
  return done;
}

static void cancel(amity_mpi_request* request) {
  MPI_Cancel(native_request(request));
  MPI_Wait(native_request(request), MPI_STATUS_IGNORE);
}

static void notify(int dest, amity_mpi_comm comm) {
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Isend(NULL, 0, MPI_BYTE, dest, 0, native_comm(comm), &sent);
  MPI_Request_free(&sent);
}

static void post_notice(amity_mpi_comm comm, amity_mpi_request* request) {
  MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, native_comm(comm), native_request(request));
}

static const amity_mpi_module table = {
    .version = AMITY_MPI_MODULE_VERSION,
    .family = AMITY_MPI_FAMILY,
    .world = {(intptr_t)MPI_COMM_WORLD},
    .no_comm = {(intptr_t)MPI_COMM_NULL},
    .no_request = {(intptr_t)MPI_REQUEST_NULL},
    .library_version = MPI_Get_library_version,
    .initialized = initialized,
    .finalized = finalized,
    .init = init,
    .finalize = finalize,
    .thread_level = thread_level,
    .is_main_thread = is_main_thread,
    .tag_max = tag_max,
    .from_fortran = from_fortran,
    .copy = copy,
    .free_comm = free_comm,
    .is_intercommunicator = is_intercommunicator,
    .rank = rank,
    .size = size,
    .abort = abort_job,
    .all_gather = all_gather,
    .all_max = all_max,
    .reduce_scatter = reduce_scatter,
    .send = send,
    .post = post,
    .test_receive = test_receive,
    .test = test,
    .test_some = test_some,
    .cancel = cancel,
    .notify = notify,
    .post_notice = post_notice,
};

__attribute__((visibility("default"))) const amity_mpi_module* amity_mpi_get_module(void) { return &table; }
