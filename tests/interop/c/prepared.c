/* Payloads that are written in place: settled sizes, commits, replies, and what is cancelled. */

#include "check.h"

enum { messages = 50, bytes_max = 1 << 20, long_bytes = 100000 };

struct rank {
  amity_handler take, answered;
  amity_local_segment own;
  amity_remote_segment* all;
  int takes, answers;
  int32_t size;
};

static void write_to(const amity_prepared* to, size_t bytes, int value) {
  CHECK(to->payload != NULL && to->payload_bytes >= bytes);
  memset(to->payload, value, bytes);
}

static void check_payload(const amity_request* request, int value) {
  const unsigned char* payload = amity_request_payload(request);
  size_t i;
  CHECK(amity_request_payload_bytes(request) == amity_request_args(request)[0]);
  for (i = 0; i < amity_request_payload_bytes(request); ++i) CHECK(payload[i] == (unsigned char)value);
}

/* Answers in place, a Long with a Long. */
static void on_take(amity_request* request, void* context) {
  struct rank* own = context;
  amity_world* world = amity_request_world(request);
  const uint64_t* args = amity_request_args(request);
  const amity_remote_segment* source = &own->all[amity_request_source(request)];
  amity_prepared answer;
  CHECK(amity_request_arg_count(request) == 3);
  check_payload(request, (int)args[1]);
  if (args[2] == 0) {
    OK(world, amity_prepare_reply_medium(request, 10, 20, 1, &answer));
  } else {
    OK(world, amity_prepare_reply_long(request, source, long_bytes + 64 * (size_t)args[1], 10, 20, 1, &answer));
  }
  CHECK(answer.payload_bytes == 20);
  write_to(&answer, 10, 33);
  {
    const uint64_t bytes = 10;
    OK(world, amity_prepared_commit(&answer, own->answered, 10, &bytes, 1));
  }
  CHECK(answer.payload == NULL && answer.payload_bytes == 0);
  ++own->takes;
}

static void on_answered(amity_request* request, void* context) {
  check_payload(request, 33);
  CHECK(amity_request_is_reply(request));
  ++((struct rank*)context)->answers;
}

static int all_answered(void* context) { return ((struct rank*)context)->answers == 2 * messages; }

static void send(amity_world* world, struct rank* own) {
  const int32_t next = (amity_world_rank(world) + 1) % own->size;
  amity_prepared one;
  uint64_t args[3];
  int i;
  for (i = 0; i < messages; ++i) {
    OK(world, amity_prepare_medium(world, next, 100, bytes_max, 3, &one));
    CHECK(one.payload_bytes >= 100 && one.payload_bytes < bytes_max); /* as many as a packet holds */
    args[0] = i % 2 == 0 ? 100 : one.payload_bytes;
    args[1] = (uint64_t)i;
    args[2] = 0;
    write_to(&one, (size_t)args[0], i);
    OK(world, amity_prepared_commit(&one, own->take, (size_t)args[0], args, 3));

    OK(world, amity_prepare_long(world, &own->all[next], 0, 8, 8, 3, &one));
    OK(world, amity_prepared_cancel(&one));
    /* Each to a place of its own. */
    OK(world, amity_prepare_long(world, &own->all[next], (size_t)i * (long_bytes / messages), 8, 1000, 3, &one));
    args[0] = 1000;
    args[2] = 1;
    write_to(&one, 1000, i);
    OK(world, amity_prepared_commit(&one, own->take, 1000, args, 3));
  }
  OK(world, amity_world_wait_until(world, "answers", all_answered, own));
}

static void err(amity_world* world, struct rank* own) {
  amity_prepared one = {NULL, 0, {NULL}}, other;
  const uint64_t args[2] = {0, 0};
  CHECK(amity_prepared_commit(&one, own->take, 0, NULL, 0) == AMITY_MISUSE);
  MISUSE(world, amity_prepare_medium(world, own->size, 0, 10, 0, &one), "amity_prepare_medium", "is not a rank");
  MISUSE(world, amity_prepare_medium(world, 0, 20, 10, 0, &one), "amity_prepare_medium", "at least 20 and at most 10");
  MISUSE(world, amity_prepare_medium(world, 0, bytes_max, bytes_max, 0, &one), "amity_prepare_medium", "room for");
  MISUSE(world, amity_prepare_medium(world, 0, 1, 1, AMITY_ARGS_MAX + 1, &one), "amity_prepare_medium", "too many");
  MISUSE(world, amity_prepare_medium(world, 0, 1, 1, 0, NULL), "amity_prepare_medium", "prepared is null");
  MISUSE(world, amity_prepare_long(world, NULL, 0, 1, 1, 0, &one), "amity_prepare_long", "null");
  OK(world, amity_prepare_medium(world, 0, 8, 8, 1, &one));
  MISUSE(world, amity_prepare_medium(world, 0, 8, 8, 1, &other), "amity_prepare_medium", "another buffer is prepared");
  MISUSE(world, amity_prepared_commit(&one, own->take, 9, args, 1), "amity_prepared_commit",
         "9 bytes of a buffer of 8");
  MISUSE(world, amity_prepared_commit(&one, own->take, 8, args, 2), "amity_prepared_commit", "was prepared for 1");
  MISUSE(world, amity_prepared_commit(&one, 77, 8, args, 1), "amity_prepared_commit", "77 is not the number");
  OK(world, amity_prepared_cancel(&one));
  MISUSE(world, amity_prepared_cancel(&one), "amity_prepared_cancel", "committed or cancelled before");
  MISUSE(world, amity_prepared_commit(&one, own->take, 8, args, 1), "amity_prepared_commit", "cancelled before");
}

static int program(amity_world* world, void* context) {
  struct rank* own = calloc(1, sizeof *own);
  int32_t rank;
  (void)context;
  own->size = amity_world_size(world);
  own->all = malloc(sizeof *own->all * (size_t)own->size);
  OK(world, amity_handler_add(world, "take", on_take, own, &own->take));
  OK(world, amity_handler_add(world, "answered", on_answered, own, &own->answered));
  OK(world, amity_segment_allocate(world, 2 * long_bytes, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  OK(world, amity_handlers_agree(world));
  err(world, own);
  send(world, own);
  OK(world, amity_world_barrier(world));
  CHECK(own->takes == 2 * messages);
  for (rank = 0; rank < own->size; ++rank) OK(world, amity_segment_close(world, &own->all[rank]));
  free(own->all);
  free(own);
  return 0;
}

int main(int argc, char** argv) { return amity_run(argc, argv, program, NULL); }
