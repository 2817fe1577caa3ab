/* A progress thread answers while its rank's program computes: run with AMITY_PROGRESS_THREAD=1. Under the simulator,
   where no thread runs beside another, "waits" tests the rest. */

#include "check.h"

enum { most_ranks = 8, rounds = 50, block = 3000 };

struct rank {
  amity_handler ask, ask_long, answer, land;
  amity_remote_segment all[most_ranks];
  amity_local_segment own;
  int computes, thread;
  /* Written by handlers on another thread. */
  int asked, landed, answered, wrong;
};

static int seen(const int* count) { return __atomic_load_n(count, __ATOMIC_ACQUIRE); }
static void count(int* counter) { __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL); }

static void on_ask(amity_request* request, void* context) {
  struct rank* own = context;
  if (amity_world_thread(amity_request_world(request)) != own->thread) count(&own->wrong);
  amity_reply_medium(request, own->answer, amity_request_payload(request), amity_request_payload_bytes(request), NULL,
                     0);
  count(&own->asked);
}

/* Sends from here, too, with a peer segment that thread 0 has opened. */
static void on_ask_long(amity_request* request, void* context) {
  struct rank* own = context;
  amity_world* world = amity_request_world(request);
  const int32_t source = amity_request_source(request);
  const char* payload = amity_request_payload(request);
  if (amity_world_thread(world) != own->thread || payload != (const char*)own->own.data) count(&own->wrong);
  amity_reply_long(request, &own->all[source], block, own->land, payload, block, NULL, 0, amity_event_implicit(world));
  amity_request_short(world, source, own->land, NULL, 0);
  count(&own->asked);
}

/* Replies come to the thread that has asked, those with a place in a segment to the segment's. */
static void on_answer(amity_request* request, void* context) {
  struct rank* own = context;
  if (amity_world_thread(amity_request_world(request)) != 0 || amity_request_payload_bytes(request) != 5) {
    count(&own->wrong);
  }
  count(&own->answered);
}

static void on_land(amity_request* request, void* context) {
  struct rank* own = context;
  if (amity_world_thread(amity_request_world(request)) != own->thread) count(&own->wrong);
  if (amity_request_is_reply(request) && memcmp(own->own.data, (char*)own->own.data + block, block) != 0) {
    count(&own->wrong);
  }
  count(&own->landed);
}

static int all_landed(void* context) { return seen(&((struct rank*)context)->landed) == 0; }
static int all_answered(void* context) { return seen(&((struct rank*)context)->answered) > 0; }
static int all_asked(void* context) { return seen(&((struct rank*)context)->asked) > 0; }

/* The other side does nothing but look at its own memory, unless it waits. */
static void be_asked(amity_world* world, struct rank* own) {
  if (own->computes) {
    while (seen(&own->asked) == 0) continue;
  } else {
    OK(world, amity_world_wait_until(world, "a request", all_asked, own));
  }
  __atomic_store_n(&own->asked, 0, __ATOMIC_RELEASE);
}

static void ask(amity_world* world, struct rank* own, int32_t rank, int with_long) {
  if (with_long) {
    char text[block];
    memset(text, 'a' + rank % 26, sizeof text);
    __atomic_store_n(&own->landed, -2, __ATOMIC_RELEASE);
    memcpy(own->own.data, text, block);
    OK(world, amity_request_long(world, &own->all[rank], 0, own->ask_long, text, block, NULL, 0, NULL));
    OK(world, amity_world_wait_until(world, "a Long and a request", all_landed, own));
  } else {
    __atomic_store_n(&own->answered, 0, __ATOMIC_RELEASE);
    OK(world, amity_request_medium(world, rank, own->ask, "hello", 5, NULL, 0));
    OK(world, amity_world_wait_until(world, "an answer", all_answered, own));
  }
}

static int program(amity_world* world, void* context) {
  struct job {
    int computes;
    struct rank ranks[most_ranks];
  }* job = context;
  const int32_t me = amity_world_rank(world), size = amity_world_size(world);
  struct rank* own = &job->ranks[me];
  int round;
  own->computes = job->computes;
  own->thread = amity_world_threads(world); /* the progress thread */
  OK(world, amity_handler_add(world, "ask", on_ask, own, &own->ask));
  OK(world, amity_handler_add(world, "ask_long", on_ask_long, own, &own->ask_long));
  OK(world, amity_handler_add(world, "answer", on_answer, own, &own->answer));
  OK(world, amity_handler_add(world, "land", on_land, own, &own->land));
  OK(world, amity_segment_allocate(world, 2 * block, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  OK(world, amity_handlers_agree(world));

  /* Pairs; a rank that is left over asks itself, and has no time to compute meanwhile. */
  for (round = 0; round < rounds; ++round) {
    const int32_t peer = (me ^ 1) < size ? me ^ 1 : me;
    OK(world, amity_world_barrier(world));
    if (peer == me || (me + round) % 2 == 0) ask(world, own, peer, round % 3 == 0);
    if (peer != me && (me + round) % 2 != 0) be_asked(world, own);
    if (peer == me) __atomic_store_n(&own->asked, 0, __ATOMIC_RELEASE);
  }
  OK(world, amity_world_barrier(world));
  CHECK(seen(&own->wrong) == 0);
  return 0;
}

int main(int argc, char** argv) {
  static struct {
    int computes;
    struct rank ranks[most_ranks];
  } job;
  job.computes = argc < 2 || strcmp(argv[1], "waits") != 0;
  return amity_run(argc, argv, program, &job);
}
