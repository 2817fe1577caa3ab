/* What OpenSHMEM's operations take on two PEs: "transfers", or "messages" where the library has them. Written against
   the public API alone, so that each implementation is measured by the same program.

   Prints one sample. A figure is the least of many short batches: what other programs take is not the library's. */

#include <shmem.h>
#ifdef WITH_MESSAGES
#include <shmemx.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { words = 4096, large = 1 << 20 };

/* On the heap, which some implementations reach faster than static variables. */
static char* target;
static int* table;
static long *counter, *hops;

static char source[large];
static long token;
static volatile long finished;
static int me, batches;

/* The least time that one of `count` repetitions of a statement takes. */
#define LEAST_NS(result, count, statement)          \
  for (int batch = 0; batch < batches; ++batch) {   \
    const double start = now_ns();                  \
    for (int i = 0; i < count; ++i) statement;      \
    const double each = (now_ns() - start) / count; \
    if (batch == 0 || each < result) result = each; \
  }

static const char* separator = "{";
static void print_figure(const char* name, double value) {
  if (me == 0) printf("%s\"%s\": %.6g", separator, name, value);
  separator = ", ";
}

/* PE 0 measures, and PE 1 waits inside the library. */
static void release_other(void) {
  if (me == 0) {
    shmem_long_p((long*)&finished, finished + 1, 1);
    ++finished;
  } else {
    shmem_long_wait_until((long*)&finished, SHMEM_CMP_GT, token);
    token = finished;
  }
  shmem_barrier_all();
}

static void transfers(void) {
  double put = 0, put_8 = 0, put_2k = 0, put_1m = 0, fetch_add = 0;
  if (me == 0) {
    for (int i = 0; i < large; ++i) source[i] = (char)i;
    LEAST_NS(put, words, shmem_putmem(&table[i], &i, sizeof i, 1));
    LEAST_NS(put_8, 100, (shmem_putmem(target, source, 8, 1), shmem_quiet()));
    LEAST_NS(put_2k, 100, (shmem_putmem(target, source, 2048, 1), shmem_quiet()));
    LEAST_NS(put_1m, 2, (shmem_putmem(target, source, large, 1), shmem_quiet()));
    LEAST_NS(fetch_add, 100, shmem_long_atomic_fetch_add(counter, 1, 1));
  }
  release_other();
  if (me == 1) {
    expect("last word", table[words - 1], words - 1);
    expect("last byte", target[large - 1], (char)(large - 1));
    expect("additions", *counter, 100L * batches);
  }
  print_figure("put_m_per_s", 1e3 / put);
  print_figure("put_8_ns", put_8);
  print_figure("put_2k_ns", put_2k);
  print_figure("put_1m_gbps", large / put_1m);
  print_figure("fetch_add_ns", fetch_add);

  double barrier = 0;
  LEAST_NS(barrier, 100, shmem_barrier_all());
  print_figure("barrier_ns", barrier);

  long round = 0;
  double ring = 0;
  shmem_barrier_all();
  LEAST_NS(ring, 100, {
    ++round;
    if (me == 1) shmem_long_wait_until(hops, SHMEM_CMP_EQ, round);
    shmem_long_p(hops, round, 1 - me);
    if (me == 0) shmem_long_wait_until(hops, SHMEM_CMP_EQ, round);
    shmem_barrier_all();
  });
  print_figure("ring_ns", ring);
}

#ifdef WITH_MESSAGES
static volatile long handled;
static void count(void* buffer, size_t bytes, int pe, shmemx_am_token_t handle) {
  (void)buffer, (void)bytes, (void)pe, (void)handle;
  ++handled;
}

static void send_window(int dest) {
  for (int i = 0; i < 4096; ++i) shmemx_am_request(dest, 1, source, 4);
  shmemx_am_quiet();
}

static void messages(void) {
  shmemx_am_attach(1, count);
  double empty = 0, payload_64 = 0, payload_2k = 0, one_way = 0;
  if (me == 0) {
    LEAST_NS(empty, 100, (shmemx_am_request(1, 1, source, 0), shmemx_am_quiet()));
    LEAST_NS(payload_64, 100, (shmemx_am_request(1, 1, source, 64), shmemx_am_quiet()));
    LEAST_NS(payload_2k, 100, (shmemx_am_request(1, 1, source, 2048), shmemx_am_quiet()));
    LEAST_NS(one_way, 1, send_window(1));
  }
  release_other();
  if (me == 1) expect("handled", handled, (300 + 4096L) * batches);
  print_figure("request_0_ns", empty);
  print_figure("request_64_ns", payload_64);
  print_figure("request_2k_gbps", 2048 / payload_2k);
  print_figure("one_way_m_per_s", 4096e3 / one_way);

  double both_ways = 0;
  const long before = handled;
  shmem_barrier_all();
  LEAST_NS(both_ways, 1, (shmem_barrier_all(), send_window(1 - me)));
  shmem_barrier_all();
  expect("handled both ways", handled - before, 4096L * batches);
  print_figure("both_ways_m_per_s", 4096e3 / both_ways);

  double ring = 0;
  long round = handled;
  shmem_barrier_all();
  LEAST_NS(ring, 100, {
    ++round;
    while (me == 1 && handled < round) shmemx_am_poll();
    shmemx_am_request(1 - me, 1, source, 4);
    while (me == 0 && handled < round) shmemx_am_poll();
    shmem_barrier_all();
  });
  print_figure("ring_ns", ring);
}
#endif

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  batches = atoi(argv[2]);
  shmem_init();
  me = shmem_my_pe();
  if (shmem_n_pes() != 2) return 2;
  target = shmem_calloc(1, large);
  table = shmem_calloc(words, sizeof *table);
  counter = shmem_calloc(1, sizeof *counter);
  hops = shmem_calloc(1, sizeof *hops);
  shmem_barrier_all();
#ifdef WITH_MESSAGES
  if (strcmp(argv[1], "messages") == 0) messages();
#endif
  if (strcmp(argv[1], "transfers") == 0) transfers();
  if (me == 0) printf("}\n");
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
