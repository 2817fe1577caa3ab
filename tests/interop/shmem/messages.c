/* Active messages: the rules of docs/openshmem.md, one function each. */

#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <string.h>

#include "../check.h"

enum {
  id_count = 3,
  id_echo = -7,
  id_echoed = 1000000,
  id_order = 8,
  id_nothing = 9,
  id_busy = 10,
  id_locked = 11,
  id_ask = 12,
  id_answer = 13
};

static int me, pes, next, before, rounds;
static shmemx_am_mutex mutex;

static volatile long handled[8];
static void count_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  CHECK(bytes == sizeof(long) && *(long*)buffer == source);
  ++handled[source];
}

static void counts(void) {
  const long mine = me;
  const int count = loops(5000);
  for (int i = 0; i < count; ++i) {
    for (int pe = 0; pe < pes; ++pe) shmemx_am_request(pe, id_count, &mine, sizeof mine);
  }
  shmemx_am_quiet();
  CHECK(handled[me] == count);
  /* The barrier alone is enough for all. */
  shmemx_am_request(next, id_count, &mine, sizeof mine);
  shmem_barrier_all();
  for (int pe = 0; pe < pes; ++pe) CHECK(handled[pe] == count + (pe == before));
  shmem_barrier_all();
}

/* Who returns from attaching knows that all have attached. */
static void nothing_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token);
static void attaching(void) {
  static int attached;
  for (int round = 1; round <= 50; ++round) {
    shmem_int_atomic_inc(&attached, 0);
    shmemx_am_attach(2000 + round, nothing_handler);
    CHECK(shmem_int_atomic_fetch(&attached, 0) >= round * pes);
  }
}

/* Barriers wait for requests and for the replies to them. */
static int answers;
static void ask_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  shmemx_am_reply(id_answer, buffer, bytes, token);
}
static void answer_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { ++answers; }
static void barriers(void) {
  static long words[SHMEM_BARRIER_SYNC_SIZE];
  for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; ++i) words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  for (int i = 1; i <= 300; ++i) {
    shmemx_am_request(next, id_ask, &i, sizeof i);
    if (i % 2 == 0) shmem_barrier_all();
    if (i % 2 == 1) shmem_barrier(0, 0, pes, words);
    CHECK(answers == i);
  }
}

/* The payload comes back as it was, whatever its size, and whether or not the source is symmetric. */
static size_t echoed_bytes;
static int echoes;
static unsigned char pattern(size_t i, size_t bytes) { return (unsigned char)(i * 7 + bytes); }
static void echo_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  shmemx_am_reply(id_echoed, buffer, bytes, token);
}
static void echoed_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  const unsigned char* const got = buffer;
  CHECK(source == next && bytes == echoed_bytes);
  for (size_t i = 0; i < bytes; ++i) CHECK(got[i] == pattern(i, bytes));
  ++echoes;
}
static void echo(void) {
  static const size_t sizes[] = {0, 1, 48, 49, 64, 2048, 65536, 65537, 131120, 3000001};
  unsigned char* const buffer = malloc(3000001);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    echoed_bytes = sizes[k];
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < sizes[k]; ++i) buffer[i] = pattern(i, sizes[k]);
      shmemx_am_request(next, id_echo, buffer, sizes[k]);
      memset(buffer, 0, sizes[k]); /* it may be reused at once */
    }
    shmemx_am_quiet();
    CHECK(echoes == 3 * (int)(k + 1));
    shmem_barrier_all();
  }
  free(buffer);
}

/* A barrier waits for the replies that others get, too. */
static void meet(void) {
  const int echoes_before = echoes;
  echoed_bytes = 0;
  for (int round = 1; round <= rounds; ++round) {
    shmemx_am_request(next, id_echo, NULL, 0);
    shmem_barrier_all();
    CHECK(shmem_int_g(&echoes, next) == echoes_before + round);
    shmem_sync_all();
  }
}

/* Who leaves a barrier may send again, to PEs that run no handlers for long: others do not stay in it for that. */
static void leave(void) {
  int* const left = shmem_malloc(sizeof *left);
  *left = 0;
  shmem_barrier_all();
  for (int pe = 0; pe < pes; ++pe) {
    if (shmem_ptr(left, pe) == NULL) return; /* where a network needs the help of those who have left */
  }
  for (int round = 1; round <= rounds; ++round) {
    shmemx_am_request(next, id_ask, NULL, 0);
    shmem_barrier_all();
    shmemx_am_request(next, id_ask, NULL, 0);
    *(volatile int*)left = round;
    for (int pe = 0; pe < pes; ++pe) {
      const volatile int* const its = shmem_ptr(left, pe);
      while (*its < round) sched_yield();
    }
  }
  shmem_barrier_all();
  shmem_free(left);
}

/* A PE may hold a mutex in a barrier: what the others send to it afterwards waits. */
static void hold(void) {
  for (int round = 0; round < rounds; ++round) {
    if (me == 0) shmemx_am_mutex_lock(&mutex);
    shmem_barrier_all();
    shmemx_am_request(0, id_ask, NULL, 0);
    if (me == 0) shmemx_am_mutex_unlock(&mutex);
    shmem_barrier_all();
  }
}

/* Small and large ones of a pair are handled in the order in which they were sent. */
static int last_number[8];
static void order_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  int number;
  memcpy(&number, buffer, sizeof number);
  CHECK(number == last_number[source] + 1);
  last_number[source] = number;
}
static void order(void) {
  static char buffer[40000];
  for (int i = 1; i <= 300; ++i) {
    memcpy(buffer, &i, sizeof i);
    shmemx_am_request(0, id_order, buffer, i % 10 == 0 ? sizeof buffer : sizeof i);
  }
  shmem_barrier_all();
  for (int pe = 0; pe < pes && me == 0; ++pe) CHECK(last_number[pe] == 300);
}

/* Whatever a PE waits for or calls in a loop, it makes progress. */
static volatile int arrived;
static void nothing_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { ++arrived; }
static void progress(void) {
  static int word;
  static long lock;
  for (int way = 0; way < 6; ++way) {
    shmem_barrier_all();
    shmemx_am_request(next, id_nothing, NULL, 0);
    const int wanted = way + 1;
    while (arrived < wanted) {
      if (way == 0) shmemx_am_poll();
      if (way == 1) shmem_int_atomic_fetch(&word, me);
      if (way == 2) shmem_int_p(&word, 1, me);
      if (way == 3) shmem_int_wait_until((int*)&arrived, SHMEM_CMP_GE, wanted);
      if (way == 4) shmem_int_test(&word, SHMEM_CMP_EQ, 3);
      if (way == 5) shmem_set_lock(&lock), shmem_clear_lock(&lock);
    }
    shmemx_am_quiet();
  }
}

/* Handlers may call what concerns their own PE, and quiet, and are not interrupted by others. */
static int depth;
static long added;
static void busy_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  CHECK(++depth == 1);
  shmem_long_atomic_add(&added, 1, me);
  shmem_quiet();
  shmem_long_p(&added, shmem_long_g(&added, me) + 1, me);
  shmem_quiet();
  shmemx_am_poll();
  shmemx_am_quiet();
  --depth;
}
static void busy(void) {
  for (int i = 0; i < 500; ++i) {
    for (int pe = 0; pe < pes; ++pe) shmemx_am_request(pe, id_busy, &i, sizeof i);
  }
  shmem_barrier_all();
  CHECK(added == 1000L * pes);
}

/* No handler runs while a mutex is held: sums under it are exact, and what arrives meanwhile is not lost. */
static volatile long guarded;
static volatile int inside;
static void locked_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  CHECK(!inside);
  shmemx_am_mutex_lock(&mutex);
  guarded += 1;
  shmemx_am_mutex_unlock(&mutex);
}
static void mutexes(void) {
  for (int i = 0; i < 300; ++i) {
    for (int pe = 0; pe < pes; ++pe) shmemx_am_request(pe, id_locked, NULL, 0);
    shmemx_am_mutex_lock(&mutex);
    inside = 1;
    CHECK(shmemx_am_mutex_trylock(&mutex) == 0);
    const long before_poll = guarded;
    shmemx_am_poll();
    shmem_quiet();
    CHECK(guarded == before_poll);
    guarded += 1;
    inside = 0;
    shmemx_am_mutex_unlock(&mutex);
  }
  /* Both ends send more than fits while they hold it. */
  CHECK(shmemx_am_mutex_trylock(&mutex) != 0);
  inside = 1;
  for (int i = 0; i < 3000; ++i) shmemx_am_request(next, id_locked, NULL, 0);
  inside = 0;
  shmemx_am_mutex_unlock(&mutex);
  shmem_barrier_all();
  CHECK(guarded == 300L * pes + 300 + 3000);
  shmem_barrier_all();
  /* One that waits for a put while it holds it takes in what comes before the put. */
  static int sent;
  if (pes > 1) {
    if (me == 0) {
      shmemx_am_mutex_lock(&mutex);
      shmem_int_wait_until(&sent, SHMEM_CMP_EQ, 1);
      shmemx_am_mutex_unlock(&mutex);
    } else if (me == 1) {
      /* In the order in which order() has begun. */
      for (int i = 301; i <= 3300; ++i) {
        shmemx_am_request(0, id_order, &i, sizeof i);
        if (i == 3000) shmem_int_p(&sent, 1, 0);
      }
    }
  }
  shmem_barrier_all();
  CHECK(me != 0 || pes == 1 || last_number[1] == 3300);
  shmemx_am_mutex_destroy(&mutex);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  rounds = loops(1000);
  next = (me + 1) % pes;
  before = (me + pes - 1) % pes;
  shmemx_am_attach(id_count, count_handler);
  shmemx_am_attach(id_echo, echo_handler);
  shmemx_am_attach_local(id_echoed, echoed_handler);
  shmemx_am_attach(id_order, order_handler);
  shmemx_am_attach(id_ask, ask_handler);
  shmemx_am_attach(id_answer, answer_handler);
  shmemx_am_attach(id_nothing, nothing_handler);
  shmemx_am_attach(id_busy, busy_handler);
  shmemx_am_mutex_init(&mutex);
  shmemx_am_attach(id_locked, locked_handler);
  counts();
  attaching();
  barriers();
  echo();
  meet();
  leave();
  hold();
  order();
  progress();
  busy();
  mutexes();
  /* An id is free again once it is detached, and a function may have several. */
  shmem_barrier_all();
  shmemx_am_detach(id_count);
  shmemx_am_attach(id_count, nothing_handler);
  shmemx_am_request(next, id_count, NULL, 0);
  shmem_barrier_all();
  CHECK(arrived == 7);
  shmem_sync_all();
  /* What is sent last is handled before the end. */
  shmemx_am_request(next, id_count, NULL, 0);
  shmem_finalize();
  CHECK(arrived == 8);
  return 0;
}
