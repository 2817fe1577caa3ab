/* The patterns by which active messages for OpenSHMEM were first compared with puts (Jana et al., section 4):
   "bandwidth", "rate", "ring" and "contention", each with "messages", where the library has them, or with "puts".

   usage: PROGRAM PATTERN MESSAGES_OR_PUTS BATCHES
   Prints one sample. A figure is the least of many short batches: what other programs take is not the library's. */

#include <shmem.h>
#ifdef WITH_MESSAGES
#include <shmemx.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { bytes_max = 1 << 20, id_count = 1, id_echo = 2, id_echoed = 3, id_add = 4 };

static int me, pes, batches, uses_messages;
static char source[bytes_max];
static char* target; /* symmetric, as those below */
static long *token, *sum, *lock;

/* How a pattern sends, and how it sees to it that what it sent has come. */
struct way {
  void (*send)(int to, size_t bytes);
  void (*complete)(void);
};

static void print_figure(const char* name, long number, double value) {
  static const char* separator = "{";
  if (me == 0) printf("%s\"%s_%ld\": %.6g", separator, name, number, value);
  separator = ", ";
}

static void put(int to, size_t bytes) { shmem_putmem(target, source, bytes, to); }
static const struct way puts_way = {put, shmem_quiet};

#ifdef WITH_MESSAGES
static volatile long counted, echoed, echoed_bytes, added;
static shmemx_am_mutex mutex;

static void count_handler(void* buffer, size_t bytes, int pe, shmemx_am_token_t handle) {
  (void)buffer, (void)bytes, (void)pe, (void)handle;
  ++counted;
}
static void echo_handler(void* buffer, size_t bytes, int pe, shmemx_am_token_t handle) {
  (void)pe;
  shmemx_am_reply(id_echoed, buffer, bytes, handle);
}
static void echoed_handler(void* buffer, size_t bytes, int pe, shmemx_am_token_t handle) {
  (void)buffer, (void)pe, (void)handle;
  ++echoed;
  echoed_bytes += (long)bytes;
}
static void add_handler(void* buffer, size_t bytes, int pe, shmemx_am_token_t handle) {
  (void)bytes, (void)pe, (void)handle;
  shmemx_am_mutex_lock(&mutex);
  added = added + *(long*)buffer;
  shmemx_am_mutex_unlock(&mutex);
}

static void request(int to, size_t bytes) { shmemx_am_request(to, id_count, source, bytes); }
static void request_echo(int to, size_t bytes) { shmemx_am_request(to, id_echo, source, bytes); }
static const struct way one_sided = {request, shmemx_am_quiet};
static const struct way two_sided = {request_echo, shmemx_am_quiet};

static void attach(void) {
  shmemx_am_attach(id_count, count_handler);
  shmemx_am_attach(id_echo, echo_handler);
  shmemx_am_attach(id_echoed, echoed_handler);
  shmemx_am_attach(id_add, add_handler);
}
#else
static const struct way one_sided, two_sided;
static void attach(void) {}
#endif

/* The least time that a message takes of `repetitions` windows of messages, each completed. PE 1 sends, too, or waits
   inside the library. */
static double least_ns(const struct way* way, size_t bytes, long window, long repetitions, int both, int rounds) {
  double least = 0;
  for (int round = 0; round < rounds; ++round) {
    shmem_barrier_all();
    if (me > 0 && !both) continue;
    const double start = now_ns();
    for (long i = 0; i < repetitions; ++i) {
      for (long k = 0; k < window; ++k) way->send(1 - me, bytes);
      way->complete();
    }
    const double each = (now_ns() - start) / (double)(window * repetitions);
    if (round == 0 || each < least) least = each;
  }
  shmem_barrier_all();
  return least;
}

static void bandwidth(void) {
  const long messages = batches > 1 ? 100 : 4; /* fewer where only the answers matter */
  static const struct {
    const char* name;
    const struct way* way;
    int both;
  } cases[] = {{"one_way", &one_sided, 0},
               {"both_ways", &one_sided, 1},
               {"one_way_echoed", &two_sided, 0},
               {"both_ways_echoed", &two_sided, 1}};
  for (int i = 0; i < (uses_messages ? 4 : 2); ++i) {
    for (long bytes = 1; bytes <= bytes_max; bytes *= 2) {
      const int rounds = bytes <= 4096 ? batches : batches / 16 + 1;
      const struct way* const way = uses_messages ? cases[i].way : &puts_way;
      print_figure(cases[i].name, bytes,
                   (double)bytes * 1e3 / least_ns(way, (size_t)bytes, 1, messages, cases[i].both, rounds));
#ifdef WITH_MESSAGES
      const long sent = me == 0 || cases[i].both ? messages * rounds : 0;
      if (cases[i].way == &two_sided) {
        expect("echoes", echoed, sent);
        expect("bytes of echoes", echoed_bytes, sent * bytes);
        echoed = echoed_bytes = 0;
      }
#endif
    }
  }
}

static void rate(void) {
  for (int both = 0; both <= 1; ++both) {
    for (long window = 1; window <= 65536; window *= 16) {
      const int rounds = window < 65536 ? batches : batches / 16 + 1;
      const long repetitions = window < 64 ? 64 : 1;
      const struct way* const way = uses_messages ? &one_sided : &puts_way;
      const double empty = least_ns(way, 0, window, repetitions, both, rounds);
      const double word = least_ns(way, 4, window, repetitions, both, rounds);
#ifdef WITH_MESSAGES
      if (uses_messages) expect("messages", counted, both || me == 1 ? 2 * window * repetitions * rounds : 0);
      counted = 0;
#endif
      print_figure(both ? "both_ways_empty" : "one_way_empty", window, 1e3 / empty);
      print_figure(both ? "both_ways" : "one_way", window, 1e3 / word);
    }
  }
}

/* Waits for the token, and hands it on; PE 0 begins. */
static void pass_token(long round) {
  const int next = (me + 1) % pes;
  if (!uses_messages) {
    if (me > 0) shmem_long_wait_until(token, SHMEM_CMP_EQ, round);
    shmem_long_p(token, round, next);
    if (me == 0) shmem_long_wait_until(token, SHMEM_CMP_EQ, round);
  }
#ifdef WITH_MESSAGES
  if (uses_messages) {
    while (me > 0 && counted < round) shmemx_am_poll();
    shmemx_am_request(next, id_count, source, 4);
    while (me == 0 && counted < round) shmemx_am_poll();
  }
#endif
}

static void ring(void) {
  long round = 0;
  for (int with_barrier = 0; with_barrier <= 1; ++with_barrier) {
    double least = 0;
    for (int batch = 0; batch < batches; ++batch) {
      shmem_barrier_all();
      const double start = now_ns();
      for (int i = 0; i < 20; ++i) {
        pass_token(++round);
        if (with_barrier) shmem_barrier_all();
      }
      const double each = (now_ns() - start) / 20;
      if (batch == 0 || each < least) least = each;
    }
    print_figure(with_barrier ? "barrier" : "round", pes, least);
  }
}

/* Both PEs add to one variable, and the other one's handler, too; with puts, under a lock. */
static void contend(void) {
  const long one = 1;
  double least = 0;
  for (int batch = 0; batch < batches; ++batch) {
    shmem_barrier_all();
    const double start = now_ns();
    for (int i = 0; i < 100; ++i) {
      if (!uses_messages) {
        shmem_set_lock(lock);
        shmem_long_p(sum, shmem_long_g(sum, 0) + one, 0);
        shmem_quiet();
        shmem_clear_lock(lock);
      }
#ifdef WITH_MESSAGES
      if (uses_messages) {
        shmemx_am_request(1 - me, id_add, &one, sizeof one);
        shmemx_am_mutex_lock(&mutex);
        added = added + one;
        shmemx_am_mutex_unlock(&mutex);
      }
#endif
    }
    shmem_barrier_all();
    const double each = (now_ns() - start) / 200;
    if (batch == 0 || each < least) least = each;
  }
  long found = shmem_long_g(sum, 0);
#ifdef WITH_MESSAGES
  if (uses_messages) found = added;
#endif
  expect("sum", found, 200L * batches);
  print_figure("addition", pes, least);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* const pattern = argv[1];
  uses_messages = strcmp(argv[2], "messages") == 0;
  batches = atoi(argv[3]);
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  if (pes != 2 && strcmp(pattern, "ring") != 0) return 2;
  target = shmem_calloc(1, bytes_max);
  token = shmem_calloc(1, sizeof *token);
  sum = shmem_calloc(1, sizeof *sum);
  lock = shmem_calloc(1, sizeof *lock);
  attach();
  shmem_barrier_all();
  if (strcmp(pattern, "bandwidth") == 0) bandwidth();
  if (strcmp(pattern, "rate") == 0) rate();
  if (strcmp(pattern, "ring") == 0) ring();
  if (strcmp(pattern, "contention") == 0) contend();
  if (me == 0) printf("}\n");
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
