/* Segments, Longs with each kind of local completion, puts, gets and atomics. */

#include "check.h"

enum { longs = 40, part_bytes = 12000, half = longs * part_bytes, segment_bytes = 2 * half };

struct rank {
  amity_handler landed, thanks, name;
  amity_local_segment own;
  amity_remote_segment* all;
  unsigned char answer[part_bytes];
  amity_event answer_free;
  amity_segment_descriptor given;
  int32_t me, size;
  int landings, answers, names;
};

static void fill(unsigned char* to, size_t bytes, int value) { memset(to, value, bytes); }

static int holds(const unsigned char* from, size_t bytes, int value) {
  size_t i;
  for (i = 0; i < bytes; ++i) {
    if (from[i] != (unsigned char)value) return 0;
  }
  return 1;
}

/* The payload is in the segment; the last one is answered with a Long. */
static void on_landed(amity_request* request, void* context) {
  struct rank* own = context;
  const int number = (int)amity_request_args(request)[0];
  const unsigned char* payload = amity_request_payload(request);
  CHECK(payload == (unsigned char*)own->own.data + (size_t)number * part_bytes);
  CHECK(amity_request_payload_bytes(request) == amity_request_args(request)[1]);
  CHECK(holds(payload, amity_request_payload_bytes(request), number + 1));
  ++own->landings;
  if (number != longs - 1) return;
  OK(amity_request_world(request), amity_reply_long(request, &own->all[amity_request_source(request)], half,
                                                    own->thanks, own->answer, part_bytes, NULL, 0, &own->answer_free));
}

static void on_thanks(amity_request* request, void* context) {
  struct rank* own = context;
  CHECK(amity_request_payload(request) == (unsigned char*)own->own.data + half && amity_request_is_reply(request));
  CHECK(amity_request_payload_bytes(request) == part_bytes && holds(amity_request_payload(request), part_bytes, 200));
  ++own->answers;
}

static void on_name(amity_request* request, void* context) {
  struct rank* own = context;
  CHECK(amity_request_payload_bytes(request) == sizeof own->given);
  memcpy(&own->given, amity_request_payload(request), sizeof own->given);
  ++own->names;
}

static int has_landed(void* context) {
  struct rank* own = context;
  return own->answers == 1 && own->landings == longs && amity_event_done(&own->answer_free);
}

static int has_name(void* context) { return ((struct rank*)context)->names == 1; }

static void send_longs(amity_world* world, struct rank* own) {
  const amity_remote_segment* next = &own->all[(own->me + 1) % own->size];
  amity_event* const implicit = amity_event_implicit(world);
  amity_event source_free = AMITY_EVENT_INIT;
  unsigned char* sources = malloc(half);
  int i;
  CHECK(amity_event_done(&source_free) == 1);
  for (i = 0; i < longs; ++i) {
    unsigned char* from = sources + (size_t)i * part_bytes;
    amity_event* const completion = i % 3 == 0 ? NULL : i % 3 == 1 ? &source_free : implicit;
    uint64_t args[2];
    args[0] = (uint64_t)i;
    args[1] = i % 5 == 0 ? 8 : part_bytes;
    fill(from, part_bytes, i + 1);
    OK(world, amity_request_long(world, next, (size_t)i * part_bytes, own->landed, from, (size_t)args[1], args, 2,
                                 completion));
    if (completion == NULL) fill(from, part_bytes, 99);
  }
  OK(world, amity_event_wait(world, &source_free));
  OK(world, amity_event_wait(world, implicit));
  CHECK(amity_event_done(&source_free) == 1 && amity_event_done(implicit) == 1);
  fill(sources, half, 98);
  OK(world, amity_world_wait_until(world, "Longs", has_landed, own));
  free(sources);
}

static void put_and_get(amity_world* world, struct rank* own) {
  const amity_remote_segment* next = &own->all[(own->me + 1) % own->size];
  amity_event source_free = AMITY_EVENT_INIT, complete = AMITY_EVENT_INIT, got = AMITY_EVENT_INIT;
  unsigned char from[1000], to[1000];
  fill(from, sizeof from, 11);
  OK(world, amity_put(world, next, half, from, sizeof from, NULL, NULL));
  OK(world, amity_get(world, next, half, to, sizeof to, NULL));
  CHECK(holds(to, sizeof to, 11));
  fill(from, sizeof from, 12);
  OK(world, amity_put(world, next, half, from, sizeof from, &source_free, &complete));
  OK(world, amity_event_wait(world, &source_free));
  fill(from, sizeof from, 13);
  OK(world, amity_event_wait(world, &complete));
  OK(world, amity_get(world, next, half, to, sizeof to, &got));
  OK(world, amity_event_wait(world, &got));
  CHECK(holds(to, sizeof to, 12));
  if (next->direct != NULL) CHECK(holds((unsigned char*)next->direct + half, 1000, 12));
  OK(world, amity_world_barrier(world));
  CHECK(holds((unsigned char*)own->own.data + half, 1000, 12));
}

/* Everybody works on words of rank 0. */
static void use_atomics(amity_world* world, struct rank* own) {
  const amity_remote_segment* at = &own->all[0];
  amity_atomic_request add = {AMITY_ADD, 8, 3, 0}, fetch = {AMITY_FETCH, 8, 0, 0}, set = {AMITY_OR, 4, 0, 0};
  amity_atomic_request first = {AMITY_COMPARE_SWAP, 8, 0, 0}, swap = {AMITY_SWAP, 8, 9, 0};
  amity_atomic_request mask = {AMITY_AND, 8, 1, 0}, turn = {AMITY_XOR, 8, 5, 0};
  amity_event complete = AMITY_EVENT_INIT;
  uint64_t before = 99, won, winners;
  const size_t sum = half + part_bytes, bits = sum + 8, winner = sum + 16, mine = sum + 24 + 8 * (size_t)own->me;
  int i;
  first.operand = (uint64_t)own->me + 1;
  set.operand = (uint64_t)1 << own->me;
  for (i = 0; i < 10; ++i) OK(world, amity_atomic(world, at, sum, &add, NULL, &complete));
  OK(world, amity_event_wait(world, &complete));
  OK(world, amity_atomic(world, at, bits + 4, &set, &before, NULL));
  CHECK((before & set.operand) == 0);
  OK(world, amity_atomic(world, at, winner, &first, &won, NULL));
  OK(world, amity_world_reduce(world, AMITY_SUM, won == 0, &winners));
  CHECK(winners == 1);
  OK(world, amity_atomic(world, at, sum, &fetch, &before, NULL));
  CHECK(before == 30 * (uint64_t)own->size);
  OK(world, amity_atomic(world, at, bits, &fetch, &before, NULL));
  CHECK(before >> 32 == ((uint64_t)1 << own->size) - 1);
  OK(world, amity_atomic(world, at, mine, &swap, &before, NULL));
  CHECK(before == 0);
  OK(world, amity_atomic(world, at, mine, &turn, &before, NULL));
  CHECK(before == 9);
  OK(world, amity_atomic(world, at, mine, &mask, &before, NULL));
  CHECK(before == 12);
  OK(world, amity_atomic(world, at, mine, &fetch, &before, NULL));
  CHECK(before == 0);
}

/* A segment whose name travels in a message. */
static void open_by_name(amity_world* world, struct rank* own) {
  const int32_t before = (own->me + own->size - 1) % own->size, after = (own->me + 1) % own->size;
  amity_local_segment more;
  amity_remote_segment theirs;
  uint64_t value = 0;
  OK(world, amity_segment_allocate(world, 64, &more));
  CHECK(more.bytes == 64 && holds(more.data, 64, 0));
  *(uint64_t*)more.data = 1000 + (uint64_t)own->me;
  OK(world, amity_request_medium(world, after, own->name, &more.descriptor, sizeof more.descriptor, NULL, 0));
  OK(world, amity_world_wait_until(world, "a name", has_name, own));
  OK(world, amity_segment_open(world, &own->given, &theirs));
  OK(world, amity_get(world, &theirs, 0, &value, sizeof value, NULL));
  CHECK(value == 1000 + (uint64_t)before);
  OK(world, amity_segment_close(world, &theirs));
  MISUSE(world, amity_get(world, &theirs, 0, &value, sizeof value, NULL), "amity_get", "not open");
  OK(world, amity_world_barrier(world));
  OK(world, amity_segment_release(world, &more));
  MISUSE(world, amity_segment_release(world, &more), "amity_segment_release", "does not belong to this rank");
}

/* Memory of the program's own. */
static void attach(amity_world* world, struct rank* own) {
  const int32_t next = (own->me + 1) % own->size;
  uint64_t* words = calloc(8, sizeof *words);
  amity_remote_segment* all = malloc(sizeof *all * (size_t)own->size);
  amity_local_segment mine;
  const uint64_t value = 500 + (uint64_t)own->me;
  OK(world, amity_segment_attach(world, words, 8 * sizeof *words, &mine));
  CHECK(mine.data == words && mine.bytes == 64);
  OK(world, amity_segment_exchange(world, &mine, all));
  OK(world, amity_put(world, &all[next], 8, &value, sizeof value, NULL, NULL));
  OK(world, amity_world_barrier(world));
  CHECK(words[1] == 500 + (uint64_t)((own->me + own->size - 1) % own->size));
  OK(world, amity_segment_close(world, &all[next]));
  OK(world, amity_segment_release(world, &mine));
  MISUSE(world, amity_segment_attach(world, NULL, 8, &mine), "amity_segment_attach", "memory is null");
  free(words);
  free(all);
}

static int program(amity_world* world, void* context) {
  struct rank* own = calloc(1, sizeof *own);
  int32_t rank;
  (void)context;
  own->me = amity_world_rank(world);
  own->size = amity_world_size(world);
  fill(own->answer, part_bytes, 200);
  own->all = malloc(sizeof *own->all * (size_t)own->size);
  OK(world, amity_handler_add(world, "landed", on_landed, own, &own->landed));
  OK(world, amity_handler_add(world, "thanks", on_thanks, own, &own->thanks));
  OK(world, amity_handler_add(world, "name", on_name, own, &own->name));
  OK(world, amity_segment_allocate(world, segment_bytes, &own->own));
  OK(world, amity_segment_exchange(world, &own->own, own->all));
  OK(world, amity_handlers_agree(world));
  send_longs(world, own);
  OK(world, amity_world_barrier(world));
  put_and_get(world, own);
  use_atomics(world, own);
  open_by_name(world, own);
  attach(world, own);
  OK(world, amity_world_barrier(world));
  for (rank = 0; rank < own->size; ++rank) OK(world, amity_segment_close(world, &own->all[rank]));
  free(own->all);
  free(own);
  return 0;
}

int main(int argc, char** argv) { return amity_run(argc, argv, program, NULL); }
