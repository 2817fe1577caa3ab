/* Short and medium requests and their replies, and what a handler sees of them. */

#include "check.h"

enum { most_ranks = 8, rounds = 120, late_ways = 3, late_hops = 200, large_bytes = 200000 };

struct rank {
  amity_handler answer, ask, pass_on, fragments, late;
  int32_t me, size;
  int answers, passed, whole;
  int late_ones; /* that arrive when the program has returned */
};

struct job {
  int timed; /* with AMITY_CORE_ATTENTIVENESS=1 */
  struct rank ranks[most_ranks];
};

static void on_ask(amity_request* request, void* context) {
  struct rank* own = context;
  uint64_t args[AMITY_ARGS_MAX];
  const size_t count = amity_request_arg_count(request);
  const unsigned char* payload = amity_request_payload(request);
  size_t i;
  CHECK(amity_request_source(request) >= 0 && amity_request_source(request) < own->size);
  CHECK(amity_request_is_reply(request) == 0 && count <= AMITY_ARGS_MAX);
  CHECK(amity_request_payload_bytes(request) == count * 3);
  for (i = 0; i < count * 3; ++i) CHECK(payload[i] == (unsigned char)(count + i));
  for (i = 0; i < count; ++i) args[i] = amity_request_args(request)[i] + 1;
  /* Odd ones are answered with a payload. */
  if (count % 2 == 0) {
    OK(amity_request_world(request), amity_reply_short(request, own->answer, args, count));
  } else {
    OK(amity_request_world(request), amity_reply_medium(request, own->answer, payload, count * 3, args, count));
  }
}

static void on_answer(amity_request* request, void* context) {
  struct rank* own = context;
  const size_t count = amity_request_arg_count(request);
  size_t i;
  CHECK(amity_request_is_reply(request) == 1);
  CHECK(amity_request_payload_bytes(request) == (count % 2 == 0 ? 0 : count * 3));
  for (i = 0; i < count; ++i) CHECK(amity_request_args(request)[i] == 1000 * count + i + 1);
  ++own->answers;
}

/* Sends on what is left of a way over all ranks. */
static void on_pass(amity_request* request, void* context) {
  struct rank* own = context;
  uint64_t left = amity_request_args(request)[0];
  ++own->passed;
  if (left-- == 0) return;
  OK(amity_request_world(request),
     amity_request_short(amity_request_world(request), (own->me + 1) % own->size, own->pass_on, &left, 1));
}

static void on_fragments(amity_request* request, void* context) {
  struct rank* own = context;
  const unsigned char* payload = amity_request_payload(request);
  size_t i;
  CHECK(amity_request_payload_bytes(request) == large_bytes && amity_request_args(request)[0] == 77);
  for (i = 0; i < large_bytes; ++i) CHECK(payload[i] == (unsigned char)(i * 7));
  ++own->whole;
}

static void on_late(amity_request* request, void* context) {
  struct rank* own = context;
  uint64_t left = amity_request_args(request)[0];
  ++own->late_ones;
  if (left-- == 0) return;
  OK(amity_request_world(request),
     amity_request_short(amity_request_world(request), (own->me + 1) % own->size, own->late, &left, 1));
}

static int all_answered(void* context) { return ((struct rank*)context)->answers == rounds * (AMITY_ARGS_MAX + 1); }
static int all_passed(void* context) { return ((struct rank*)context)->passed == rounds; }
static int is_whole(void* context) { return ((struct rank*)context)->whole == 1; }

static void ask_everybody(amity_world* world, struct rank* own) {
  uint64_t args[AMITY_ARGS_MAX];
  unsigned char payload[AMITY_ARGS_MAX * 3];
  size_t count, i;
  int round;
  for (round = 0; round < rounds; ++round) {
    for (count = 0; count <= AMITY_ARGS_MAX; ++count) {
      for (i = 0; i < count; ++i) args[i] = 1000 * count + i;
      for (i = 0; i < count * 3; ++i) payload[i] = (unsigned char)(count + i);
      OK(world, amity_request_medium(world, (own->me + round) % own->size, own->ask, payload, count * 3,
                                     count == 0 ? NULL : args, count));
      /* What was sent has been taken in. */
      memset(args, 0, sizeof args);
      memset(payload, 0, sizeof payload);
    }
  }
  OK(world, amity_world_wait_until(world, "answers", all_answered, own));
}

static void send_fragments(amity_world* world, struct rank* own) {
  unsigned char* large = malloc(large_bytes);
  const uint64_t tag = 77;
  size_t i;
  for (i = 0; i < large_bytes; ++i) large[i] = (unsigned char)(i * 7);
  OK(world, amity_request_medium(world, (own->me + 1) % own->size, own->fragments, large, large_bytes, &tag, 1));
  free(large);
  OK(world, amity_world_wait_until(world, NULL, is_whole, own));
}

static int program(amity_world* world, void* context) {
  const int32_t me = amity_world_rank(world);
  struct rank* own = &((struct job*)context)->ranks[me];
  const uint64_t way = rounds - 1, late_way = late_hops;
  amity_counters counters;
  int i;
  own->me = me;
  own->size = amity_world_size(world);
  CHECK(own->size <= most_ranks && me >= 0 && me < own->size);
  CHECK(amity_world_node(world, me) >= 0 && amity_world_node(world, own->size) == -1);
  CHECK(strcmp(amity_last_error_text(world), "") == 0);
  OK(world, amity_handler_add(world, "answer", on_answer, own, &own->answer));
  OK(world, amity_handler_add(world, "ask", on_ask, own, &own->ask));
  OK(world, amity_handler_add(world, "pass on", on_pass, own, &own->pass_on));
  OK(world, amity_handler_add(world, "fragments", on_fragments, own, &own->fragments));
  OK(world, amity_handler_add(world, "late", on_late, own, &own->late));
  OK(world, amity_handlers_agree(world));

  ask_everybody(world, own);
  OK(world, amity_request_short(world, (me + 1) % own->size, own->pass_on, &way, 1));
  OK(world, amity_world_wait_until(world, "the way", all_passed, own));
  send_fragments(world, own);
  OK(world, amity_world_counters(world, &counters));
  CHECK(counters.messages_sent >= (uint64_t)rounds * (AMITY_ARGS_MAX + 2) && counters.messages_handled > 0 &&
        counters.packets_sent > 0 && counters.bytes_sent > large_bytes);
  CHECK(counters.polls_with_news > 0 && counters.polls >= counters.polls_with_news);
  if (((struct job*)context)->timed) {
    CHECK(counters.gap_ns_max > 0 && counters.gap_ns_total >= counters.gap_ns_max && counters.handler_ns_max > 0);
  } else {
    CHECK(counters.gap_ns_max == 0 && counters.gap_ns_total == 0 && counters.handler_ns_max == 0);
  }
  OK(world, amity_world_barrier(world));
  OK(world, amity_handler_remove(world, own->fragments));

  /* Nobody waits for these: the job does. */
  for (i = 0; i < late_ways; ++i) {
    OK(world, amity_request_short(world, (me + i) % own->size, own->late, &late_way, 1));
  }
  return 0;
}

int main(int argc, char** argv) {
  static struct job all; /* of the ranks that this process hosts */
  int status, rank, late = 0, hosted = 0;
  all.timed = argc > 1 && strcmp(argv[1], "timed") == 0;
  status = amity_run(argc, argv, program, &all);
  for (rank = 0; rank < most_ranks; ++rank) {
    hosted += all.ranks[rank].size > 0;
    late += all.ranks[rank].late_ones;
  }
  /* All ranks begin the same ways over all ranks, so that each takes part in as many. */
  if (status == 0) CHECK(late == hosted * late_ways * (late_hops + 1));
  return status;
}
