/* Threads of a rank, each with its own world: run with AMITY_THREADS. */

#include "check.h"

#include <stdlib.h>

enum { most_ranks = 8, most_threads = 4, rounds = 40, block = 2500 };

struct rank;
struct thread {
  struct rank* rank;
  int replies; /* its own: they come to the thread that has asked */
};

struct rank {
  amity_world* main; /* thread 0's */
  int simulated;     /* all threads are one, as far as the system knows */
  amity_handler take, back, landed;
  uint64_t attached[most_threads * block / 8];
  amity_local_segment own;
  amity_remote_segment all[most_ranks];
  struct thread threads[most_threads];
  /* Of handlers that may run on another thread. */
  int taken, wrong;
};

static void count(int* counter) { __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL); }
static int seen(const int* counter) { return __atomic_load_n(counter, __ATOMIC_ACQUIRE); }

/* The payload of a Long has its thread's number in each byte. */
static void on_take(amity_request* request, void* context) {
  struct rank* own = context;
  const unsigned char* payload = amity_request_payload(request);
  const uint64_t* args = amity_request_args(request);
  size_t i;
  for (i = 0; i < amity_request_payload_bytes(request); ++i) {
    if (payload[i] != (unsigned char)(args[0] + 1)) count(&own->wrong);
  }
  count(&own->taken); /* before the answer, with which the program may end */
  amity_reply_short(request, own->back, args, 1);
}

static void on_back(amity_request* request, void* context) {
  struct rank* own = context;
  const int32_t thread = amity_world_thread(amity_request_world(request));
  if ((uint64_t)thread != amity_request_args(request)[0]) count(&own->wrong);
  ++own->threads[thread].replies;
}

static void on_landed(amity_request* request, void* context) {
  (void)request;
  count(&((struct rank*)context)->taken);
}

static int has_replies(void* context) { return ((struct thread*)context)->replies == 0; }

static void work(amity_world* world, void* context) {
  struct rank* rank = context;
  const int32_t thread = amity_world_thread(world), size = amity_world_size(world);
  struct thread* own = &rank->threads[thread];
  const uint64_t number = (uint64_t)thread;
  /* A place for each thread of each rank, and a word for all. */
  const size_t place = ((size_t)amity_world_rank(world) * most_threads + (size_t)thread) * block;
  const size_t word = (size_t)size * most_threads * block;
  const amity_atomic_request add = {AMITY_ADD, 8, 1, 0};
  char sent[block], got[block];
  int round;
  amity_local_segment none;
  memset(sent, thread + 1, sizeof sent);
  for (round = 0; round < rounds; ++round) {
    const int32_t peer = (amity_world_rank(world) + round) % size;
    const amity_remote_segment* there = &rank->all[peer];
    own->replies = -3;
    OK(world, amity_request_short(world, peer, rank->take, &number, 1));
    OK(world, amity_request_medium(world, peer, rank->take, sent, 100, &number, 1));
    OK(world, amity_request_long(world, there, place, rank->take, sent, block, &number, 1, NULL));
    OK(world, amity_world_wait_until(world, "replies", has_replies, own));
    OK(world, amity_get(world, there, place, got, block, NULL));
    CHECK(memcmp(got, sent, block) == 0);
    OK(world, amity_atomic(world, there, word, &add, NULL, NULL));
  }
  /* What thread 0 alone does. */
  if (thread == 0) return;
  if (!rank->simulated) {
    CHECK(amity_request_short(rank->main, 0, rank->take, &number, 1) == AMITY_MISUSE);
    CHECK(amity_world_fail(rank->main, "not my world") == AMITY_MISUSE);
    CHECK(strstr(amity_last_error_text(rank->main), "another thread") != NULL);
  }
  MISUSE(world, amity_world_barrier(world), "amity_world_barrier", "called by thread");
  MISUSE(world, amity_segment_allocate(world, 8, &none), "amity_segment_allocate",
         "with the world that amity_run gave");
  MISUSE(world, amity_handler_remove(world, rank->take), "amity_handler_remove", "called by thread");
  MISUSE(world, amity_epoch_begin(world), "amity_epoch_begin", "called by thread");
}

/* The program ends while peers may still acknowledge what this thread puts to their memory. */
static void leave(amity_world* world, void* context) {
  struct rank* rank = context;
  const uint64_t number = (uint64_t)amity_world_thread(world);
  static const char sent[block];
  int i;
  for (i = 0; i < rounds; ++i) {
    OK(world,
       amity_request_long(world, &rank->all[(amity_world_rank(world) + 1) % amity_world_size(world)],
                          (size_t)number * block, rank->landed, sent, block, &number, 1, amity_event_implicit(world)));
  }
}

static int program(amity_world* world, void* context) {
  struct rank* own = &((struct rank*)context)[amity_world_rank(world)];
  const int32_t size = amity_world_size(world), threads = amity_world_threads(world);
  const size_t word = (size_t)size * most_threads * block;
  uint64_t additions = 0, taken = 0;
  const char* fabric = getenv("AMITY_FABRIC");
  int32_t i;
  own->main = world;
  own->simulated = fabric != NULL && strcmp(fabric, "sim") == 0;
  CHECK(threads >= 1 && threads <= most_threads && amity_world_thread(world) == 0);
  OK(world, amity_handler_add(world, "take", on_take, own, &own->take));
  OK(world, amity_handler_add(world, "back", on_back, own, &own->back));
  OK(world, amity_segment_allocate(world, word + 8, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  OK(world, amity_handlers_agree(world));
  MISUSE(world, amity_threads_run(world, NULL, own), "amity_threads_run", "work is null");
  OK(world, amity_threads_run(world, work, own));
  OK(world, amity_world_barrier(world));
  memcpy(&additions, (char*)own->own.data + word, sizeof additions);
  OK(world, amity_world_reduce(world, AMITY_SUM, additions, &additions));
  OK(world, amity_world_reduce(world, AMITY_SUM, (uint64_t)seen(&own->taken), &taken));
  CHECK(additions == (uint64_t)(size * threads * rounds));
  CHECK(taken == 3 * additions);
  CHECK(seen(&own->wrong) == 0);

  /* Handles serve again. */
  for (i = 0; i < size; ++i) OK(world, amity_segment_close(world, &own->all[i]));
  OK(world, amity_world_barrier(world));
  OK(world, amity_segment_release(world, &own->own));
  OK(world, amity_segment_allocate(world, word + 8, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  CHECK(own->all[0].id < (uint64_t)size);
  OK(world, amity_epoch_begin(world));
  OK(world, amity_threads_run(world, work, own));
  OK(world, amity_epoch_end(world));
  OK(world, amity_world_reduce(world, AMITY_SUM, (uint64_t)seen(&own->taken), &taken));
  CHECK(taken == 6 * additions && seen(&own->wrong) == 0);
  OK(world, amity_handler_add(world, "landed", on_landed, own, &own->landed));
  OK(world, amity_segment_attach(world, own->attached, sizeof own->attached, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  OK(world, amity_threads_run(world, leave, own));
  return 0;
}

int main(int argc, char** argv) {
  static struct rank ranks[most_ranks];
  return amity_run(argc, argv, program, ranks);
}
