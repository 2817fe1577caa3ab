#ifndef MPIX_AM_H
#define MPIX_AM_H

/* Active messages on MPI windows, as functions of libamity-mpi: a message runs a handler on the process that owns the
 * memory. Link with the library (pkg-config amity-mpi-windows-openmpi or
 * amity-mpi-windows-mpich).
 *
 * A message has segments, the smallest parts into which it may be split. Handlers get one or more consecutive segments,
 * and must give the same result for any division. Messages are legal in every epoch, on windows of every flavor, and
 * are complete after the calls that complete a MPI_Get_accumulate. (X. Zhao, P. Balaji, W. Gropp and R. Thakur,
 * "Optimization Strategies for MPI-Interoperable Active Messages".)
 *
 * Handlers call no function of MPI that blocks or synchronizes, no one-sided function, and not MPIX_Am or MPIX_Amv.
 *
 * All functions return an error code of MPI; errors go to the error handler of the window, or of the communicator.
 * MPI_Error_string of the code has the function, the wrong value and what to do.
 */

#include <mpi.h>

#define MPIX_AM_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* An operation, the same number on all processes of its communicator. */
typedef int MPIX_Am_op;
#define MPIX_AM_OP_NULL 0

/* Runs on the target. Counts of elements are those of one segment, and the types are handles of this process, which are
 * equal to those that the origin has named for the target. `num_segments` is the number of segments of this call.
 * Output is zero bytes at first. */
typedef void MPIX_Am_user_function(const void* input_addr, int input_segment_count, MPI_Datatype input_datatype,
                                   void* persistent_addr, int persistent_count, MPI_Datatype persistent_datatype,
                                   void* output_addr, int output_segment_count, MPI_Datatype output_datatype,
                                   int num_segments);
/* In addition, fills the number of output elements of each segment, which is 0 at first. */
typedef void MPIX_Amv_user_function(const void* input_addr, int input_segment_count, MPI_Datatype input_datatype,
                                    void* persistent_addr, int persistent_count, MPI_Datatype persistent_datatype,
                                    void* output_addr, int output_segment_count, MPI_Datatype output_datatype,
                                    int num_segments, int output_segment_counts[]);

/* Functions with large counts. */
typedef void MPIX_Am_user_function_c(const void* input_addr, MPI_Count input_segment_count, MPI_Datatype input_datatype,
                                     void* persistent_addr, MPI_Count persistent_count,
                                     MPI_Datatype persistent_datatype, void* output_addr,
                                     MPI_Count output_segment_count, MPI_Datatype output_datatype,
                                     MPI_Count num_segments);
typedef void MPIX_Amv_user_function_c(const void* input_addr, MPI_Count input_segment_count,
                                      MPI_Datatype input_datatype, void* persistent_addr, MPI_Count persistent_count,
                                      MPI_Datatype persistent_datatype, void* output_addr,
                                      MPI_Count output_segment_count, MPI_Datatype output_datatype,
                                      MPI_Count num_segments, MPI_Count output_segment_counts[]);

/* Collective over `comm`. The operation may be used on windows all of whose processes are in `comm`. */
int MPIX_Am_op_create(MPIX_Am_user_function* fn, MPI_Comm comm, MPIX_Am_op* op);
int MPIX_Amv_op_create(MPIX_Amv_user_function* fn, MPI_Comm comm, MPIX_Am_op* op);
int MPIX_Am_op_create_c(MPIX_Am_user_function_c* fn, MPI_Comm comm, MPIX_Am_op* op);
int MPIX_Amv_op_create_c(MPIX_Amv_user_function_c* fn, MPI_Comm comm, MPIX_Am_op* op);
/* Local. Messages that are under way are carried out. */
int MPIX_Am_op_free(MPIX_Am_op* op);

/* Sends a message of `num_segments` segments. One segment of input has `origin_input_segment_count` elements at the
 * origin and `target_input_segment_count` elements at the target, and so has one of output. Both sides of a segment
 * have the same data, as in MPI_Put: the same basic types in the same order, with any number of elements. MPI_BYTE and
 * MPI_PACKED match bytes of any type. Sizes are compared, and basic types if each side has only one; different ones are
 * the error MPI_ERR_TYPE. The persistent buffer is memory of the window, `target_persistent_disp` displacement units
 * from its beginning. Buffers of the origin stay as they are until the message is complete. A null pointer for data is
 * MPI_ERR_BUFFER, and for a result MPI_ERR_ARG. */
int MPIX_Am(const void* origin_input_addr, int origin_input_segment_count, MPI_Datatype origin_input_datatype,
            void* origin_output_addr, int origin_output_segment_count, MPI_Datatype origin_output_datatype,
            int num_segments, int target_rank, int target_input_segment_count, MPI_Datatype target_input_datatype,
            MPI_Aint target_persistent_disp, int target_persistent_count, MPI_Datatype target_persistent_datatype,
            int target_output_segment_count, MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win);
/* As MPIX_Am. A segment of output has at most `target_output_segment_count` elements of the target's type, which may be
 * 0; `output_segment_counts` has their number for each segment when the message is complete. The output of each segment
 * begins where it does in MPIX_Am. */
int MPIX_Amv(const void* origin_input_addr, int origin_input_segment_count, MPI_Datatype origin_input_datatype,
             void* origin_output_addr, int origin_output_segment_count, MPI_Datatype origin_output_datatype,
             int output_segment_counts[], int num_segments, int target_rank, int target_input_segment_count,
             MPI_Datatype target_input_datatype, MPI_Aint target_persistent_disp, int target_persistent_count,
             MPI_Datatype target_persistent_datatype, int target_output_segment_count,
             MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win);

/* Functions with large counts. Both forms of messages work with both forms of operations. A message whose counts of
 * elements are larger than INT_MAX needs an operation of MPIX_Am_op_create_c or MPIX_Amv_op_create_c; with another one,
 * it is the error MPI_ERR_COUNT. Any operation serves any number of segments, because its handler gets a part of them
 * in each call. The limits are 2^40 bytes for a segment, and 2^32 - 2 elements for the output of a segment of
 * MPIX_Amv_c. */
int MPIX_Am_c(const void* origin_input_addr, MPI_Count origin_input_segment_count, MPI_Datatype origin_input_datatype,
              void* origin_output_addr, MPI_Count origin_output_segment_count, MPI_Datatype origin_output_datatype,
              MPI_Count num_segments, int target_rank, MPI_Count target_input_segment_count,
              MPI_Datatype target_input_datatype, MPI_Aint target_persistent_disp, MPI_Count target_persistent_count,
              MPI_Datatype target_persistent_datatype, MPI_Count target_output_segment_count,
              MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win);
int MPIX_Amv_c(const void* origin_input_addr, MPI_Count origin_input_segment_count, MPI_Datatype origin_input_datatype,
               void* origin_output_addr, MPI_Count origin_output_segment_count, MPI_Datatype origin_output_datatype,
               MPI_Count output_segment_counts[], MPI_Count num_segments, int target_rank,
               MPI_Count target_input_segment_count, MPI_Datatype target_input_datatype,
               MPI_Aint target_persistent_disp, MPI_Count target_persistent_count,
               MPI_Datatype target_persistent_datatype, MPI_Count target_output_segment_count,
               MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win);

/* Memory of this process in which the input and the output of messages lie that do not fit the system buffer
 * (AMITY_AM_SYSTEM_BYTES for each origin). Local; any number of buffers, which do not overlap. A buffer is detached by
 * its address, while no message uses it (MPI_ERR_RMA_ATTACH otherwise). If less than `am_user_buf_<rank>` guarantees
 * would stay attached, a detach is the error MPIX_ERR_AM_HINT, until the window is freed: attach another buffer before,
 * or let MPI_Win_free detach the buffers. MPI_Win_free detaches all of them; free their memory after it. */
int MPIX_Am_win_buffer_attach(void* buffer, MPI_Aint size, MPI_Win win);
int MPIX_Am_win_buffer_detach(const void* buffer, MPI_Win win);

/* Info keys of windows, for the calls that make them: "am_user_buf_<rank>", bytes in the buffers of that process that
 * are guaranteed to this one until the window is freed; "am_buf_interleave_am_detach", "false" if no process detaches
 * buffers between messages; "am_atomic", "false" if handlers need not be atomic with accumulates; "am_ordering" ("none"
 * or "origin") and "am_concurrency" ("true" or "false"), which change nothing: messages of one origin to one target are
 * always in order, and one handler runs at a time. A wrong value on one process is MPI_ERR_INFO_VALUE on all of them.
 * Process 0 of the window warns of other keys that begin with "am_". */

/* What messages of this process to a target have needed so far. */
typedef struct {
  unsigned long long messages;
  unsigned long long units;
  unsigned long long handshakes;  /* requests for space in buffers */
  unsigned long long queries;     /* requests for a list of all space, under an exclusive lock */
  unsigned long long refusals;    /* units that were sent again */
  unsigned long long input_bytes; /* without headers, as the others */
  unsigned long long output_bytes;
  unsigned long long count_bytes;
  unsigned long long wait_ns;      /* in which the next segment had no space */
  unsigned long long credit_bytes; /* of buffers, which the target keeps for this process now */
} MPIX_Am_counters;
int MPIX_Am_win_get_counters(MPI_Win win, int target_rank, MPIX_Am_counters* counters);

/* Error classes. */
enum { MPIX_AM_BUFFER, MPIX_AM_COUNT, MPIX_AM_DETACHED, MPIX_AM_HINT, MPIX_AM_HANDLER };
int MPIX_Am_error_class(int which);
#define MPIX_ERR_AM_BUFFER MPIX_Am_error_class(MPIX_AM_BUFFER)     /* buffers are too small for one segment */
#define MPIX_ERR_AM_COUNT MPIX_Am_error_class(MPIX_AM_COUNT)       /* a handler has set a count that is too large */
#define MPIX_ERR_AM_DETACHED MPIX_Am_error_class(MPIX_AM_DETACHED) /* a buffer was detached against a promise */
#define MPIX_ERR_AM_HINT MPIX_Am_error_class(MPIX_AM_HINT)         /* less is, or would be, attached than guaranteed */
#define MPIX_ERR_AM_HANDLER MPIX_Am_error_class(MPIX_AM_HANDLER)   /* a handler has failed */

#ifdef __cplusplus
}
#endif

#endif
