/* Rank 1 is lost: what the others call then says so, again and again, whichever call it is. Run with a fault of the
   simulator. Its arguments are the calls of ranks 0 and 2. */

#include "check.h"

static int never(void* context) {
  (void)context;
  return 0;
}

static amity_status call(amity_world* world, const char* name) {
  amity_status status = AMITY_OK;
  if (strcmp(name, "wait") == 0) return amity_world_wait_until(world, "nothing", never, NULL);
  if (strcmp(name, "barrier") == 0) return amity_world_barrier(world);
  if (strcmp(name, "epoch") == 0) {
    int ended = 0;
    status = amity_epoch_begin(world);
    while (status == AMITY_OK && !ended) status = amity_epoch_try_end(world, &ended);
    return status;
  }
  while (status == AMITY_OK) status = amity_world_poll(world);
  return status;
}

static int program(amity_world* world, void* context) {
  char** names = context;
  const char* name = names[amity_world_rank(world) == 2 ? 2 : 1];
  if (amity_world_rank(world) == 1) return (int)amity_world_wait_until(world, "its end", never, NULL);
  CHECK(call(world, name) == AMITY_FAILED);
  CHECK(amity_world_poll(world) == AMITY_FAILED);
  CHECK(amity_world_barrier(world) == AMITY_FAILED);
  return strcmp(name, "barrier") == 0 ? 3 : 0; /* amity_run prints what nobody has looked at, and returns no 0 */
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  return amity_run(argc, argv, program, argv);
}
