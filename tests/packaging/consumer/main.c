/* The smallest whole program in C: each rank sends a number to the next one. Fails unless it runs on as many ranks as
   its argument says. */

#include <amity/amity.h>
#include <stdlib.h>

static void take(amity_request* request, void* received) { *(uint64_t*)received = amity_request_args(request)[0]; }

static int has_received(void* received) { return *(uint64_t*)received != 0; }

static int program(amity_world* world, void* ranks) {
  const int32_t size = amity_world_size(world), next = (amity_world_rank(world) + 1) % size;
  const uint64_t sent = 7;
  uint64_t received = 0, sum = 0;
  amity_handler handler;
  if (amity_handler_add(world, "take", take, &received, &handler) != AMITY_OK) return 1;
  if (amity_handlers_agree(world) != AMITY_OK) return 1;
  if (amity_request_short(world, next, handler, &sent, 1) != AMITY_OK) return 1;
  if (amity_world_wait_until(world, "the number", has_received, &received) != AMITY_OK) return 1;
  if (amity_world_reduce(world, AMITY_SUM, received, &sum) != AMITY_OK) return 1;
  return size == *(int*)ranks && sum == 7 * (uint64_t)size ? 0 : 1;
}

int main(int argc, char** argv) {
  int ranks = argc > 1 ? atoi(argv[1]) : 0;
  return amity_run(argc, argv, program, &ranks);
}
