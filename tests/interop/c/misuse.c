/* Mistakes outside handlers: each has a status and a text, and nothing has been done. The last ones happen in handlers,
   one for each name, and end the job. */

#include "check.h"

#include <pthread.h>

struct rank {
  amity_world* world;
  amity_handler take, mistaken, back;
  amity_local_segment own;
  amity_remote_segment all[8];
  amity_request* kept;
  amity_prepared prepared;
  uint64_t sum;
  int taken, answered, replies_to_replies;
};

struct job {
  const char* mistake; /* "" for those outside handlers */
  struct rank ranks[8];
};

static void on_take(amity_request* request, void* context) {
  struct rank* own = context;
  own->kept = request;
  ++own->taken;
}

static void on_back(amity_request* request, void* context) {
  struct rank* own = context;
  ++own->answered;
  if (own->replies_to_replies) amity_reply_short(request, own->take, NULL, 0);
}

static int taken(void* context) { return ((struct rank*)context)->taken > 0; }
static int never(void* context) {
  (void)context;
  return 0;
}

static void check_requests(amity_world* world, struct rank* own) {
  const uint64_t args[AMITY_ARGS_MAX + 1] = {0};
  amity_handler none = 77;
  amity_counters before, after;
  OK(world, amity_world_counters(world, &before));
  MISUSE(world, amity_request_short(world, -1, own->take, NULL, 0), "amity_request_short (rank ", "destination -1");
  MISUSE(world, amity_request_short(world, amity_world_size(world), own->take, NULL, 0), "is not a rank", "use 0 to");
  MISUSE(world, amity_request_short(world, 0, none, NULL, 0), "77 is not the number", "amity_handler_add");
  /* A number of the runtime's own. */
  MISUSE(world, amity_request_medium(world, 0, 0, NULL, 0, NULL, 0), "amity_request_medium", "0 is not the number");
  MISUSE(world, amity_request_short(world, 0, own->take, args, AMITY_ARGS_MAX + 1), "arguments are too many",
         "use at most");
  MISUSE(world, amity_request_short(world, 0, own->take, NULL, 1), "amity_request_short", "args is null");
  MISUSE(world, amity_request_medium(world, 0, own->take, NULL, 5, NULL, 0), "amity_request_medium", "payload is null");
  MISUSE(world, amity_request_medium(world, 0, own->take, args, (size_t)-1, NULL, 0), "amity_request_medium",
         "a payload of 18446744073709551615 bytes");
  MISUSE(world, amity_request_medium(world, 0, own->take, args, (size_t)-4, args, 1), "amity_request_medium",
         "a payload of 18446744073709551612 bytes");
  MISUSE(world, amity_request_long(world, &own->all[0], 60, own->take, args, 5, NULL, 0, NULL), "amity_request_long",
         "5 bytes at offset 60 are out of range: the segment of rank 0 has 64 bytes");
  MISUSE(world, amity_request_long(world, NULL, 0, own->take, args, 5, NULL, 0, NULL), "amity_request_long",
         "segment is null");
  MISUSE(world, amity_request_long(world, &own->all[0], 0, none, args, 5, NULL, 0, NULL), "amity_request_long",
         "77 is not the number");
  OK(world, amity_world_counters(world, &after));
  CHECK(after.messages_sent == before.messages_sent);
  MISUSE(world, amity_world_counters(world, NULL), "amity_world_counters", "counters is null");
}

static void check_memory(amity_world* world, struct rank* own) {
  amity_remote_segment nothing = {0, 0, NULL, 0, 0};
  amity_segment_descriptor no_name = {{0}};
  amity_local_segment other;
  amity_atomic_request what = {AMITY_ADD, 8, 1, 0};
  uint64_t word = 0;
  MISUSE(world, amity_segment_allocate(world, 0, &other), "amity_segment_allocate", "0 bytes");
  MISUSE(world, amity_segment_allocate(world, 8, NULL), "amity_segment_allocate", "null");
  MISUSE(world, amity_segment_attach(world, &word, (size_t)-1, &other), "amity_segment_attach",
         "18446744073709551615 bytes");
  memset(&other, 0, sizeof other);
  MISUSE(world, amity_segment_release(world, &other), "amity_segment_release", "does not belong to this rank");
  MISUSE(world, amity_segment_exchange(world, &other, own->all), "amity_segment_exchange",
         "does not belong to this rank");
  MISUSE(world, amity_segment_open(world, &no_name, &nothing), "amity_segment_open", "0 bytes of rank 0");
  MISUSE(world, amity_put(world, &nothing, 0, &word, 8, NULL, NULL), "amity_put", "not open");
  MISUSE(world, amity_put(world, &own->all[0], 0, NULL, 8, NULL, NULL), "amity_put", "source is null");
  MISUSE(world, amity_put(world, &own->all[0], 57, &word, 8, NULL, NULL), "amity_put", "out of range");
  MISUSE(world, amity_get(world, &own->all[0], 0, NULL, 8, NULL), "amity_get", "result is null");
  MISUSE(world, amity_get(world, &own->all[0], (size_t)-1, &word, 8, NULL), "amity_get", "out of range");
  MISUSE(world, amity_atomic(world, &own->all[0], 4, &what, NULL, NULL), "amity_atomic", "aligned to their size");
  what.bytes = 264;
  MISUSE(world, amity_atomic(world, &own->all[0], 0, &what, NULL, NULL), "amity_atomic", "264 bytes");
  what.bytes = 8;
  what.operation = 7;
  MISUSE(world, amity_atomic(world, &own->all[0], 0, &what, NULL, NULL), "amity_atomic", "7 is no atomic operation");
  MISUSE(world, amity_atomic(world, &own->all[0], 0, NULL, NULL, NULL), "amity_atomic", "null");
}

/* A thread that was given no world, though the rank has no other ones. */
static void* use_on_another_thread(void* world) {
  CHECK(amity_world_poll(world) == AMITY_MISUSE);
  CHECK(strstr(amity_last_error_text(world), "another thread") != NULL);
  return NULL;
}

static void check_threads(amity_world* world) {
  pthread_t other;
  CHECK(pthread_create(&other, NULL, use_on_another_thread, world) == 0);
  CHECK(pthread_join(other, NULL) == 0);
  OK(world, amity_world_poll(world));
}

static void check_epochs(amity_world* world, struct rank* own) {
  int ended = 0;
  OK(world, amity_epoch_begin(world));
  MISUSE(world, amity_segment_exchange(world, &own->own, own->all), "amity_segment_exchange", "inside an epoch");
  OK(world, amity_epoch_try_end(world, &ended));
  if (!ended) {
    MISUSE(world, amity_request_short(world, 0, own->back, NULL, 0), "amity_request_short",
           "after the end of its epoch had been asked for");
    OK(world, amity_epoch_end(world));
  }
}

static void check_others(amity_world* world, struct rank* own) {
  amity_handler handler;
  amity_prepared nothing;
  memset(&nothing, 0, sizeof nothing);
  MISUSE(world, amity_handler_add(world, NULL, on_take, own, &handler), "amity_handler_add", "name is null");
  MISUSE(world, amity_handler_add(world, "x", NULL, own, &handler), "amity_handler_add", "function is null");
  MISUSE(world, amity_handler_add(world, "x", on_take, own, NULL), "amity_handler_add", "handler is null");
  MISUSE(world, amity_handler_remove(world, 77), "amity_handler_remove", "77 is not the number");
  MISUSE(world, amity_handler_remove(world, 0), "amity_handler_remove", "0 is not the number");
  MISUSE(world, amity_event_wait(world, NULL), "amity_event_wait", "null");
  MISUSE(world, amity_world_wait_until(world, NULL, NULL, NULL), "amity_world_wait_until", "done is null");
  MISUSE(world, amity_world_reduce(world, AMITY_SUM, 1, NULL), "amity_world_reduce", "result is null");
  CHECK(amity_world_barrier(NULL) == AMITY_MISUSE && amity_reply_short(NULL, 0, NULL, 0) == AMITY_MISUSE);
  CHECK(strstr(amity_last_error_text(NULL), "the world is null") != NULL);
  CHECK(amity_prepared_commit(&nothing, own->take, 0, NULL, 0) == AMITY_MISUSE);
  CHECK(amity_prepared_cancel(&nothing) == AMITY_MISUSE && amity_prepared_cancel(NULL) == AMITY_MISUSE);
  CHECK(amity_world_rank(NULL) == -1 && amity_world_size(NULL) == -1 && amity_request_world(NULL) == NULL);

  /* A request that was kept. */
  OK(world, amity_request_short(world, amity_world_rank(world), own->take, NULL, 0));
  OK(world, amity_world_wait_until(world, NULL, taken, own));
  MISUSE(world, amity_reply_short(own->kept, own->take, NULL, 0), "amity_reply_short", "has returned");
  CHECK(amity_request_source(own->kept) == -1 && amity_request_args(own->kept) == NULL &&
        amity_request_arg_count(own->kept) == 0 && amity_request_payload(own->kept) == NULL &&
        amity_request_payload_bytes(own->kept) == 0 && amity_request_is_reply(own->kept) == 0);
}

/* What a handler does wrong ends the job. */
static void on_mistaken(amity_request* request, void* context) {
  struct job* job = context;
  amity_world* world = amity_request_world(request);
  struct rank* own = &job->ranks[amity_world_rank(world)];
  const uint64_t args[AMITY_ARGS_MAX + 1] = {0};
  amity_status status = AMITY_OK;
#define IF(name) if (strcmp(job->mistake, #name) == 0)
  IF(twice) {
    status = amity_reply_short(request, own->back, NULL, 0);
    CHECK(status == AMITY_OK);
    status = amity_reply_short(request, own->back, NULL, 0);
  }
  IF(reply) {
    OK(world, amity_reply_short(request, own->back, NULL, 0));
    status = AMITY_FAILED;
  }
  IF(kept) status = amity_reply_short(own->kept, own->back, NULL, 0);
  IF(handler) status = amity_reply_short(request, 77, NULL, 0);
  IF(args) status = amity_reply_medium(request, own->back, NULL, 0, args, AMITY_ARGS_MAX + 1);
  IF(place)
  status = amity_reply_long(request, &own->all[1], 63, own->back, args, 2, NULL, 0, amity_event_implicit(world));
  IF(event) status = amity_reply_long(request, &own->all[1], 0, own->back, args, 2, NULL, 0, NULL);
  IF(owner)
  status = amity_reply_long(request, &own->all[0], 0, own->back, args, 2, NULL, 0, amity_event_implicit(world));
  IF(barrier) status = amity_world_barrier(world);
  IF(poll) status = amity_world_poll(world);
  IF(wait) status = amity_world_wait_until(world, NULL, never, NULL);
  IF(done) status = amity_event_wait(world, amity_event_implicit(world));
  IF(at_once) status = amity_world_wait_until(world, NULL, taken, own);
  IF(cancel) status = amity_prepared_cancel(&own->prepared);
  IF(blocking) status = amity_get(world, &own->all[1], 0, &own->taken, sizeof own->taken, NULL);
  IF(add) status = amity_handler_add(world, "more", on_take, own, &own->take);
  IF(epoch) status = amity_epoch_begin(world);
  IF(left) {
    static amity_prepared one;
    status = amity_prepare_medium(world, 1, 1, 1, 0, &one) == AMITY_OK ? AMITY_FAILED : AMITY_OK;
  }
  IF(fail) status = amity_world_fail(world, "the program says so") == AMITY_OK ? AMITY_FAILED : AMITY_OK;
  CHECK(status == AMITY_FAILED);
}

static int program(amity_world* world, void* context) {
  struct job* job = context;
  struct rank* own = &job->ranks[amity_world_rank(world)];
  amity_status status;
  own->replies_to_replies = strcmp(job->mistake, "reply") == 0;
  OK(world, amity_handler_add(world, "take", on_take, own, &own->take));
  if (strcmp(job->mistake, "agree") == 0 && amity_world_rank(world) == 1) {
    OK(world, amity_handler_add(world, "another", on_take, own, &own->mistaken));
  } else {
    OK(world, amity_handler_add(world, "mistaken", on_mistaken, job, &own->mistaken));
  }
  OK(world, amity_handler_add(world, "back", on_back, own, &own->back));
  if (strcmp(job->mistake, "agree") == 0) {
    MISUSE(world, amity_handlers_agree(world), "amity_handlers_agree", "rank 1 has other handlers than rank 0");
    CHECK(strstr(amity_last_error_text(world), amity_world_rank(world) == 1 ? "another" : "mistaken") != NULL);
    /* It can be mended. */
    OK(world, amity_handler_remove(world, own->mistaken));
    OK(world, amity_handler_add(world, "mistaken", on_mistaken, job, &own->mistaken));
    OK(world, amity_handlers_agree(world));
    if (amity_world_rank(world) == 1) {
      OK(world, amity_handler_remove(world, own->mistaken));
      OK(world, amity_handler_add(world, "another", on_take, own, &own->mistaken));
    }
    status = amity_world_barrier(world); /* the message may come while rank 1 is in it */
    if (amity_world_rank(world) == 0) OK(world, amity_request_short(world, 1, own->mistaken, NULL, 0));
    status = amity_world_wait_until(world, "the end", never, NULL);
    CHECK(status == (amity_world_rank(world) == 1 ? AMITY_FAILED : AMITY_ABORTED));
    return 3;
  }
  OK(world, amity_handlers_agree(world));
  OK(world, amity_segment_allocate(world, 64, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  if (strcmp(job->mistake, "inside") == 0) {
    amity_world_barrier(world); /* the other rank may have failed already */
    amity_epoch_begin(world);
    return 0;
  }
  if (strcmp(job->mistake, "refused") == 0) {
    /* Rank 1's exchange is refused, and it goes on. */
    amity_local_segment other = own->own;
    amity_segment_descriptor none = {{0}};
    if (amity_world_rank(world) == 1) {
      other.descriptor = none;
      MISUSE(world, amity_segment_exchange(world, &other, own->all), "amity_segment_exchange",
             "does not belong to this rank, or has been released; use what amity_segment_allocate or "
             "amity_segment_attach gave, before its release");
      status = amity_world_barrier(world);
    } else {
      status = amity_segment_exchange(world, &other, own->all);
    }
    CHECK(status != AMITY_OK);
    return 3;
  }
  if (strcmp(job->mistake, "alone") == 0) {
    /* Rank 0 has ended. */
    if (amity_world_rank(world) == 0) return 0;
    status = amity_world_reduce(world, AMITY_SUM, 1, &own->sum);
    CHECK(status == AMITY_FAILED || status == AMITY_ABORTED);
    return 3;
  }
  if (strcmp(job->mistake, "unread") == 0) {
    amity_world_reduce(world, AMITY_SUM, 1, NULL);
    return 0;
  }
  if (strcmp(job->mistake, "") == 0) {
    check_requests(world, own);
    check_memory(world, own);
    check_others(world, own);
    check_epochs(world, own);
    check_threads(world);
    return 0;
  }

  if (strcmp(job->mistake, "cancel") == 0 && amity_world_rank(world) == 0) {
    OK(world, amity_prepare_medium(world, 1, 1, 1, 0, &own->prepared));
  }
  OK(world, amity_world_barrier(world));
  if (amity_world_rank(world) == 1) {
    if (strcmp(job->mistake, "kept") == 0 || strcmp(job->mistake, "at_once") == 0) {
      OK(world, amity_request_short(world, 0, own->take, NULL, 0));
    }
    OK(world, amity_request_short(world, 0, own->mistaken, NULL, 0));
  }
  status = amity_world_wait_until(world, "the end", never, NULL);
  if (amity_world_rank(world) == (strcmp(job->mistake, "reply") == 0 ? 1 : 0)) {
    CHECK(status == AMITY_FAILED && amity_world_poll(world) == AMITY_FAILED);
  } else {
    CHECK(status == AMITY_ABORTED);
  }
  return 3; /* amity_run prints what nobody has looked at */
}

int main(int argc, char** argv) {
  static struct job job;
  job.mistake = argc > 1 ? argv[1] : "";
  return amity_run(argc, argv, program, &job);
}
