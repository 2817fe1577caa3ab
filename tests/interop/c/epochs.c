/* Epochs that end when everything has been handled, reductions, and polling. */

#include "check.h"

enum { most_ranks = 8, depth = 45 };

struct rank {
  amity_handler spread;
  int32_t me, size;
  uint64_t handled;
};

/* Sends on to two ranks, until the depth is used up. */
static void on_spread(amity_request* request, void* context) {
  struct rank* own = context;
  amity_world* world = amity_request_world(request);
  const uint64_t* args = amity_request_args(request);
  uint64_t next;
  ++own->handled;
  if (args[0] == 0) return;
  next = args[0] - 1;
  OK(world, amity_request_short(world, (own->me + 1) % own->size, own->spread, &next, 1));
  if (args[0] % 15 == 0) OK(world, amity_request_short(world, (own->me + 3) % own->size, own->spread, &next, 1));
}

/* How many one message of this depth becomes. */
static uint64_t all_of(uint64_t left) {
  if (left == 0) return 1;
  return 1 + (left % 15 == 0 ? 2 : 1) * all_of(left - 1);
}

static void check_sum(amity_world* world, struct rank* own, uint64_t epochs) {
  uint64_t sum = 0;
  OK(world, amity_world_reduce(world, AMITY_SUM, own->handled, &sum));
  CHECK(sum == epochs * all_of(depth) * (uint64_t)own->size);
}

static void run_epochs(amity_world* world, struct rank* own) {
  const uint64_t left = depth;
  int ended = 0;
  OK(world, amity_epoch_begin(world));
  OK(world, amity_request_short(world, own->me, own->spread, &left, 1));
  OK(world, amity_epoch_end(world));
  check_sum(world, own, 1);

  OK(world, amity_epoch_begin(world));
  MISUSE(world, amity_epoch_begin(world), "amity_epoch_begin", "has not ended yet");
  OK(world, amity_request_short(world, own->me, own->spread, &left, 1));
  while (!ended) OK(world, amity_epoch_try_end(world, &ended));
  check_sum(world, own, 2);
  MISUSE(world, amity_epoch_end(world), "amity_epoch_end", "no epoch has begun");
  MISUSE(world, amity_epoch_try_end(world, &ended), "amity_epoch_try_end", "no epoch has begun");
}

static int program(amity_world* world, void* context) {
  struct rank* own = &((struct rank*)context)[amity_world_rank(world)];
  const uint64_t before = amity_world_now_ns(world), last = 0;
  uint64_t result = 0;
  own->me = amity_world_rank(world);
  own->size = amity_world_size(world);
  OK(world, amity_handler_add(world, "spread", on_spread, own, &own->spread));
  OK(world, amity_handlers_agree(world));

  OK(world, amity_world_reduce(world, AMITY_SUM, (uint64_t)own->me + 1, &result));
  CHECK(result == (uint64_t)own->size * ((uint64_t)own->size + 1) / 2);
  OK(world, amity_world_reduce(world, AMITY_MIN, (uint64_t)own->me + 7, &result));
  CHECK(result == 7);
  OK(world, amity_world_reduce(world, AMITY_MAX, (uint64_t)own->me, &result));
  CHECK(result == (uint64_t)own->size - 1);
  MISUSE(world, amity_world_reduce(world, 7, 1, &result), "amity_world_reduce", "7 is no reduction");

  run_epochs(world, own);
  /* A loop of the program's own. */
  result = own->handled;
  OK(world, amity_world_barrier(world));
  OK(world, amity_request_short(world, (own->me + 1) % own->size, own->spread, &last, 1));
  while (own->handled == result) OK(world, amity_world_poll(world));
  CHECK(amity_world_now_ns(world) >= before);
  return 0;
}

int main(int argc, char** argv) {
  static struct rank ranks[most_ranks]; /* of which this process hosts one or all */
  return amity_run(argc, argv, program, ranks);
}
