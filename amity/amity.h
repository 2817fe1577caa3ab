#ifndef AMITY_AMITY_H
#define AMITY_AMITY_H

/* Amity for C: the core active messages, for runtimes and languages that generate or are written in C.

   The same engine as <amity/core/endpoint.hpp> and <amity/core/memory.hpp>, whose contract holds:
   docs/contracts/core.md. docs/c.md is a way in.

   - Handlers run inside calls of amity on the rank's own thread, one at a time. They may send anything to any rank and
     reply once; they never wait. Nothing is ordered, every message is handled exactly once.
   - With AMITY_PROGRESS_THREAD=1 in the environment, each rank has one more thread, which runs the handlers of requests
     and Longs, also while the program computes. Handlers of other replies run on the thread that has asked.
   - A world is one thread's: it is used by that thread, and by the handlers there, which ask amity_request_world for
     it. There are no globals: many ranks may live in one process.
   - Functions return an amity_status. What they change, and what they write through pointers, is as before unless they
     return AMITY_OK. Sizes and offsets are bytes.
   - A mistake that a handler makes ends the job. No C++ exception passes through frames of C.

   C99, and C++. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most words of arguments of a request or a reply. */
#define AMITY_ARGS_MAX 16

/* --- Errors --- */

typedef enum amity_status {
  AMITY_OK = 0,
  AMITY_MISUSE = 1, /* a mistake of the caller's: nothing is other than before, and the program may go on */
  AMITY_FAILED = 2, /* this rank has failed, by a handler's mistake, say, or a lost rank: return from the program */
  AMITY_ABORTED = 3 /* another rank has ended the job, and said why: return from the program */
} amity_status;

/* One rank's view of its job, for one of its threads. Calls that say thread 0 are those of the thread that runs the
   program; the others may be called on each thread, with its world. */
typedef struct amity_world amity_world;

/* What the last call that did not return AMITY_OK had to say: call, rank, value and remedy. "" if there was none. Valid
   until the next call fails. amity_run prints the last one that nobody has asked for. A call that knows no world - it
   is given null, or a message that was not prepared - or that of another thread says it on standard error instead. */
const char* amity_last_error_text(amity_world* world);

/* --- The job --- */

/* A rank's program; its result is the exit status. */
typedef int (*amity_main_function)(amity_world* world, void* context);

/* Runs `program(world, context)` once for each rank that this process hosts, and returns the exit status for main. The
   environment says where the ranks are (AMITY_FABRIC, AMITY_RANKS), as for amity::run; with the fabric `threads`
   several threads call `program` at once. Where all ranks return 0, it waits until all requests and replies have been
   handled; a rank that returns anything else ends the job, and so does one that calls exit or quick_exit before its
   program has returned. Handlers and segments that are left then end with the world. */
int amity_run(int argc, char** argv, amity_main_function program, void* context);

int32_t amity_world_rank(const amity_world* world);
int32_t amity_world_size(const amity_world* world); /* ranks */
/* Threads of each rank that run the program, AMITY_THREADS, and which of them has this world, 0 or more. That of the
   progress thread is the number of the others. */
int32_t amity_world_threads(const amity_world* world);
int32_t amity_world_thread(const amity_world* world);
/* Number of the node that `rank` is on, 0 or more; ranks of one node share memory. -1 for what is no rank. */
int32_t amity_world_node(const amity_world* world, int32_t rank);
/* Nanoseconds since an unspecified moment: wall clock, or the rank's virtual clock under the simulator. */
uint64_t amity_world_now_ns(const amity_world* world);
/* Ends the job with this text, from a handler, too: calls that make progress return AMITY_FAILED from now on. */
amity_status amity_world_fail(amity_world* world, const char* text);

/* What a thread does, with its own world. */
typedef void (*amity_thread_function)(amity_world* world, void* context);

/* Runs `work(world, context)` on each thread of this rank that runs the program, and returns when all have done it.
   Thread 0, outside handlers. */
amity_status amity_threads_run(amity_world* world, amity_thread_function work, void* context);

/* --- Handlers, for all threads: the same calls in the same order on all ranks, on thread 0, outside handlers --- */

/* A request or reply, in its handler. */
typedef struct amity_request amity_request;
typedef uint16_t amity_handler;
typedef void (*amity_handler_function)(amity_request* request, void* context);

/* `name` is what ranks compare; it is copied. `context` is handed to each call of `function`. */
amity_status amity_handler_add(amity_world* world, const char* name, amity_handler_function function, void* context,
                               amity_handler* handler);
/* When no message for it can arrive any more. */
amity_status amity_handler_remove(amity_world* world, amity_handler handler);
/* Collective: compares the handlers of all ranks, and is a barrier, so that requests may follow. Where they differ, it
   is AMITY_MISUSE on all ranks, and the text names the first rank that differs and what is registered here. A message
   that meets another handler than its sender meant ends the job in any case. */
amity_status amity_handlers_agree(amity_world* world);

/* --- Completion --- */

/* Counts operations under way; one may be given to many. Begins as AMITY_EVENT_INIT, stays where it is until it is
   done, and then needs no end. */
typedef struct amity_event {
  void* opaque[2];
} amity_event;

#define AMITY_EVENT_INIT \
  {                      \
    { NULL, NULL }       \
  }

/* 1: all that it was given to has come to its stage. */
int amity_event_done(const amity_event* event);
/* Makes progress until the event is done. Not in handlers. */
amity_status amity_event_wait(amity_world* world, const amity_event* event);
/* An event that the world owns, for callers that wait for all their operations at once. */
amity_event* amity_event_implicit(amity_world* world);

/* --- Memory that peers reach, for all threads. Thread 0, outside handlers. --- */

/* Describes a segment to any rank; may be sent as bytes. */
typedef struct amity_segment_descriptor {
  uint64_t words[16];
} amity_segment_descriptor;

/* Memory of this rank, which begins as zeros, on a cache line. */
typedef struct amity_local_segment {
  void* data;
  size_t bytes;
  amity_segment_descriptor descriptor;
} amity_local_segment;

/* A segment of some rank as this rank reaches it. */
typedef struct amity_remote_segment {
  int32_t owner;   /* of amity's own */
  uint32_t number; /* of amity's own */
  void* direct;    /* where plain loads and stores of this rank reach it, on each thread; null: nowhere */
  size_t bytes;
  uint64_t id; /* of amity's own */
} amity_remote_segment;

amity_status amity_segment_allocate(amity_world* world, size_t bytes, amity_local_segment* own);
/* The same for memory of the caller's, aligned to 8, which stays until it is released. Peers reach it by packets, which
   this rank copies when it makes progress. */
amity_status amity_segment_attach(amity_world* world, void* memory, size_t bytes, amity_local_segment* own);
/* After a barrier behind the last use by anybody. `own` becomes zeros. */
amity_status amity_segment_release(amity_world* world, amity_local_segment* own);
/* Collective, outside epochs: the segments of all ranks, by rank, into the array `all` of as many as there are ranks.
 */
amity_status amity_segment_exchange(amity_world* world, const amity_local_segment* own, amity_remote_segment* all);
/* A segment of any rank, by the descriptor that its owner has handed out. */
amity_status amity_segment_open(amity_world* world, const amity_segment_descriptor* descriptor,
                                amity_remote_segment* opened);
/* `opened` becomes zeros. */
amity_status amity_segment_close(amity_world* world, amity_remote_segment* opened);

/* --- Requests, in and outside handlers --- */

/* A request runs its handler on `rank`. `args` are `arg_count` words, at most AMITY_ARGS_MAX; null where there are
   none. Outside handlers a request may run handlers while it waits for room. */

amity_status amity_request_short(amity_world* world, int32_t rank, amity_handler handler, const uint64_t* args,
                                 size_t arg_count);
/* With a payload of any size, which may change when the call returns. */
amity_status amity_request_medium(amity_world* world, int32_t rank, amity_handler handler, const void* payload,
                                  size_t payload_bytes, const uint64_t* args, size_t arg_count);
/* With a payload that goes to `offset` of a peer's segment; the handler runs there when it is in place. When the event
   is done, the source may change. With a null event the call waits for that, which handlers may not. */
amity_status amity_request_long(amity_world* world, const amity_remote_segment* to, size_t offset,
                                amity_handler handler, const void* payload, size_t payload_bytes, const uint64_t* args,
                                size_t arg_count, amity_event* source_free);

/* --- In a handler: what it runs for. The request is valid until the handler returns. --- */

amity_world* amity_request_world(const amity_request* request);
int32_t amity_request_source(const amity_request* request);
int amity_request_is_reply(const amity_request* request);
const uint64_t* amity_request_args(const amity_request* request);
size_t amity_request_arg_count(const amity_request* request);
/* Of a Long: in this rank's segment, where it stays. Of others: aligned to 8, until the handler returns. */
const void* amity_request_payload(const amity_request* request);
size_t amity_request_payload_bytes(const amity_request* request);

/* Replies to the source, at most once, and not to a reply. The handler there gets it as its request. */
amity_status amity_reply_short(amity_request* request, amity_handler handler, const uint64_t* args, size_t arg_count);
amity_status amity_reply_medium(amity_request* request, amity_handler handler, const void* payload,
                                size_t payload_bytes, const uint64_t* args, size_t arg_count);
/* To a segment of the source's. The event must not be null: handlers do not wait. */
amity_status amity_reply_long(amity_request* request, const amity_remote_segment* to, size_t offset,
                              amity_handler handler, const void* payload, size_t payload_bytes, const uint64_t* args,
                              size_t arg_count, amity_event* source_free);

/* --- Payloads that are written where they are sent from --- */

/* A buffer of the runtime's. It stays where it is until it is committed or cancelled, which each one must be, in the
   same run of a handler, or outside handlers, as it was prepared. Begins as zeros, or as anything if it is prepared
   first. */
typedef struct amity_prepared {
  void* payload;        /* where to write; not initialised; null after the end */
  size_t payload_bytes; /* room there */
  void* opaque[24];
} amity_prepared;

/* Room for `bytes_max`, or for as many of them as the runtime has beside `arg_count` arguments; fewer than `bytes_min`
   are AMITY_MISUSE. Outside handlers there is one prepared medium request at a time, and it is committed before the
   rank waits for anything. */
amity_status amity_prepare_medium(amity_world* world, int32_t rank, size_t bytes_min, size_t bytes_max,
                                  size_t arg_count, amity_prepared* prepared);
/* As above; the payload is written into the segment itself where stores of this rank reach it. */
amity_status amity_prepare_long(amity_world* world, const amity_remote_segment* to, size_t offset, size_t bytes_min,
                                size_t bytes_max, size_t arg_count, amity_prepared* prepared);
amity_status amity_prepare_reply_medium(amity_request* request, size_t bytes_min, size_t bytes_max, size_t arg_count,
                                        amity_prepared* prepared);
amity_status amity_prepare_reply_long(amity_request* request, const amity_remote_segment* to, size_t offset,
                                      size_t bytes_min, size_t bytes_max, size_t arg_count, amity_prepared* prepared);
/* Sends the first `bytes` of the payload, with as many arguments as it was prepared for. There is nothing to wait for.
 */
amity_status amity_prepared_commit(amity_prepared* prepared, amity_handler handler, size_t bytes, const uint64_t* args,
                                   size_t arg_count);
amity_status amity_prepared_cancel(amity_prepared* prepared);

/* --- Operations on segments, in and outside handlers. Without an event they wait, outside handlers alone. --- */

/* `source_free`: the source may change. `complete`: the data is in the segment. One of them may be null; with neither
   the call waits until the put is complete. */
amity_status amity_put(amity_world* world, const amity_remote_segment* to, size_t offset, const void* source,
                       size_t bytes, amity_event* source_free, amity_event* complete);
/* `result` holds the data when `complete` is done. */
amity_status amity_get(amity_world* world, const amity_remote_segment* from, size_t offset, void* result, size_t bytes,
                       amity_event* complete);

typedef enum amity_atomic_operation {
  AMITY_FETCH = 0,
  AMITY_SWAP = 1,
  AMITY_COMPARE_SWAP = 2,
  AMITY_ADD = 3,
  AMITY_AND = 4,
  AMITY_OR = 5,
  AMITY_XOR = 6
} amity_atomic_operation;

typedef struct amity_atomic_request {
  int operation;     /* an amity_atomic_operation */
  size_t bytes;      /* of the word: 4 or 8; the offset is a multiple of it */
  uint64_t operand;  /* of compare_swap: the new value */
  uint64_t expected; /* of compare_swap alone */
} amity_atomic_request;

/* What was there before goes to `previous`, widened with zeros, unless that is null. */
amity_status amity_atomic(amity_world* world, const amity_remote_segment* at, size_t offset,
                          const amity_atomic_request* what, uint64_t* previous, amity_event* complete);

/* --- Progress. Not in handlers. --- */

/* Runs handlers of what has arrived and sends what waits; never waits. */
amity_status amity_world_poll(amity_world* world);
/* Makes progress until `done(context)` is not 0; sleeps while there is nothing to do. `where` says in reports of a
   stall what is waited for; it may be null. What handlers on other threads of the rank do is seen, too; then `done`
   needs atomics, or a lock. */
amity_status amity_world_wait_until(amity_world* world, const char* where, int (*done)(void* context), void* context);

/* --- Collectives: all ranks, in the same order, on thread 0, outside handlers --- */

typedef enum amity_reduction { AMITY_SUM = 0, AMITY_MIN = 1, AMITY_MAX = 2 } amity_reduction;

amity_status amity_world_barrier(amity_world* world);
/* Reduces one word over all ranks, as an amity_reduction says; each gets the result. Sums are modulo 2^64. */
amity_status amity_world_reduce(amity_world* world, int operation, uint64_t value, uint64_t* result);

/* An epoch: what is sent between begin and end, and by the handlers of that, has been handled on all ranks when the end
   has come. Epochs do not nest. */
amity_status amity_epoch_begin(amity_world* world); /* without waiting */
amity_status amity_epoch_end(amity_world* world);
/* One step towards the end, which never waits; `ended` becomes 1 when it has come. From the first step on, only
   handlers send. */
amity_status amity_epoch_try_end(amity_world* world, int* ended);

/* --- Counters --- */

/* Of this thread, since the job began. */
typedef struct amity_counters {
  uint64_t messages_sent;
  uint64_t messages_handled;
  uint64_t packets_sent;
  uint64_t bytes_sent; /* payload of packets */
  uint64_t polls;
  uint64_t polls_with_news; /* that found something */
  /* With AMITY_CORE_ATTENTIVENESS=1 alone; 0 without. */
  uint64_t gap_ns_max; /* between two polls, sleeps left out */
  uint64_t gap_ns_total;
  uint64_t handler_ns_max; /* of one packet's handlers */
} amity_counters;

amity_status amity_world_counters(amity_world* world, amity_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
