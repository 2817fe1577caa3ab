/* What amity's core takes through amity.h on two ranks: what bench/c_interface.cpp measures in C++. Prints one sample.
 */

#define _GNU_SOURCE /* which core a process runs on */

#include <amity/amity.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { row = 64 };

struct rank {
  amity_world* world;
  int tiny;
  amity_handler ping, pong, take, done;
  amity_local_segment own;
  amity_remote_segment all[2];
  uint64_t handled, expected, ended;
};

static void on_ping(amity_request* request, void* context) {
  struct rank* own = context;
  ++own->handled;
  amity_reply_short(request, own->pong, amity_request_args(request), amity_request_arg_count(request));
}

static void on_take(amity_request* request, void* context) {
  (void)request;
  ++((struct rank*)context)->handled;
}

static void on_done(amity_request* request, void* context) {
  (void)request;
  ++((struct rank*)context)->ended;
}

static int all_handled(void* context) {
  const struct rank* own = context;
  return own->handled >= own->expected;
}
static int all_ended(void* context) { return ((struct rank*)context)->ended > 0; }

static void must(struct rank* own, amity_status status) {
  if (status == AMITY_OK) return;
  fprintf(stderr, "%s\n", amity_last_error_text(own->world));
  exit(1);
}

/* To the rank's core among those that this process may use. */
static void pin_to_core(int index) {
  cpu_set_t allowed, one;
  int core;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  index %= CPU_COUNT(&allowed);
  for (core = 0; !CPU_ISSET(core, &allowed) || index-- > 0;) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static int by_value(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* The median over batches of measure(rank, count). */
static double median_of(struct rank* own, int batches, double (*measure)(struct rank*, int), int count) {
  double* each = malloc((size_t)batches * sizeof *each);
  double median;
  int i;
  for (i = 0; i < batches; ++i) each[i] = measure(own, count);
  qsort(each, (size_t)batches, sizeof *each, by_value);
  median = batches % 2 == 1 ? each[batches / 2] : (each[batches / 2 - 1] + each[batches / 2]) / 2;
  free(each);
  return median;
}

static double latency_ns(struct rank* own, int round_trips) {
  const int me = amity_world_rank(own->world);
  uint64_t start, word = 0;
  int i;
  must(own, amity_world_barrier(own->world));
  start = amity_world_now_ns(own->world);
  for (i = 0; i < round_trips; ++i) {
    ++word;
    ++own->expected;
    if (me == 0) must(own, amity_request_short(own->world, 1, own->ping, &word, 1));
    must(own, amity_world_wait_until(own->world, "latency", all_handled, own));
  }
  return (double)(amity_world_now_ns(own->world) - start) / (2.0 * round_trips);
}

static double flood_m_per_s(struct rank* own, int messages) {
  const int me = amity_world_rank(own->world);
  uint64_t start, i;
  own->ended = 0;
  must(own, amity_world_barrier(own->world));
  start = amity_world_now_ns(own->world);
  if (me == 0) {
    for (i = 0; i < (uint64_t)messages; ++i) must(own, amity_request_short(own->world, 1, own->take, &i, 1));
    must(own, amity_world_wait_until(own->world, "the answer", all_ended, own));
  } else {
    own->expected += (uint64_t)messages;
    must(own, amity_world_wait_until(own->world, "the flood", all_handled, own));
    must(own, amity_request_short(own->world, 0, own->done, NULL, 0));
  }
  return messages / (double)(amity_world_now_ns(own->world) - start) * 1e3;
}

/* A row is begun and timed by rank 0, and handled by rank 1. */
#define ROW(name, request)                                                       \
  static double name(struct rank* own, int count) {                              \
    const uint64_t word = 1;                                                     \
    uint64_t start, end;                                                         \
    int i;                                                                       \
    must(own, amity_world_barrier(own->world));                                  \
    start = end = amity_world_now_ns(own->world);                                \
    if (amity_world_rank(own->world) == 0) {                                     \
      for (i = 0; i < count; ++i) must(own, request);                            \
      end = amity_world_now_ns(own->world);                                      \
      must(own, amity_event_wait(own->world, amity_event_implicit(own->world))); \
    } else {                                                                     \
      own->expected += (uint64_t)count;                                          \
      must(own, amity_world_wait_until(own->world, "a row", all_handled, own));  \
    }                                                                            \
    must(own, amity_world_barrier(own->world));                                  \
    return (double)(end - start) / count;                                        \
  }
ROW(short_ns, amity_request_short(own->world, 1, own->take, &word, 1))
ROW(medium_ns, amity_request_medium(own->world, 1, own->take, &word, sizeof word, NULL, 0))
ROW(long_ns, amity_request_long(own->world, &own->all[1], 8 * (size_t)i, own->take, &word, sizeof word, NULL, 0,
                                amity_event_implicit(own->world)))

static int program(amity_world* world, void* context) {
  struct rank* own = context;
  const int tiny = own->tiny, rows = tiny ? 11 : 2001;
  double latency, flood, shorts, mediums, longs;
  own->world = world;
  if (amity_world_size(world) != 2) return 2;
  pin_to_core(amity_world_rank(world));
  must(own, amity_handler_add(world, "ping", on_ping, own, &own->ping));
  must(own, amity_handler_add(world, "pong", on_take, own, &own->pong));
  must(own, amity_handler_add(world, "take", on_take, own, &own->take));
  must(own, amity_handler_add(world, "done", on_done, own, &own->done));
  must(own, amity_segment_allocate(world, 8 * row, &own->own));
  must(own, amity_segment_exchange(world, &own->own, own->all));
  must(own, amity_handlers_agree(world));
  latency = median_of(own, tiny ? 3 : 21, latency_ns, tiny ? 100 : 4000);
  flood = median_of(own, tiny ? 3 : 11, flood_m_per_s, tiny ? 2000 : 500000);
  shorts = median_of(own, rows, short_ns, row);
  mediums = median_of(own, rows, medium_ns, row);
  longs = median_of(own, rows, long_ns, row);
  if (own->handled != own->expected) {
    fprintf(stderr, "%llu messages, not %llu\n", (unsigned long long)own->handled, (unsigned long long)own->expected);
    return 1;
  }
  if (amity_world_rank(world) != 0) return 0;
  printf(
      "{\"latency_ns\": %.6g, \"flood_m_per_s\": %.6g, \"short_ns\": %.6g, \"medium_ns\": %.6g, \"long_ns\": %.6g}\n",
      latency, flood, shorts, mediums, longs);
  return 0;
}

int main(int argc, char** argv) {
  struct rank own = {0}; /* ranks are processes */
  own.tiny = argc > 1 && strcmp(argv[1], "tiny") == 0;
  return amity_run(argc, argv, program, &own);
}
