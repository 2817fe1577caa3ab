/* Threads of a PE: one that runs handlers while the program computes, and some of the program's own. */

#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "../sleeps.h"

enum { id_count = 1, id_add = 2, id_reply = 3, threads = 3, holders = 4, meetings = 200 };

static int me, pes, next, additions, requests, turns;
static int counted; /* asked for outside of all calls */
static volatile long sum, handled, answered;
static shmemx_am_mutex mutex;

static void count_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  __atomic_add_fetch(&counted, 1, __ATOMIC_RELEASE);
}
static void add_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  shmemx_am_mutex_lock(&mutex);
  sum = sum + 1;
  shmemx_am_mutex_unlock(&mutex);
  handled = handled + 1;
  shmemx_am_reply(id_reply, NULL, 0, token);
}
static void reply_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { answered = answered + 1; }

/* A program that only computes answers all the same. */
static void compute(void) {
  shmemx_am_request(next, id_count, NULL, 0);
  while (__atomic_load_n(&counted, __ATOMIC_ACQUIRE) == 0) {
  }
  shmem_barrier_all();
}

/* Handlers and the program add to one variable. */
static void add(void) {
  for (int i = 0; i < additions; ++i) {
    shmemx_am_request(next, id_add, NULL, 0);
    shmemx_am_mutex_lock(&mutex);
    sum = sum + 1;
    shmemx_am_mutex_unlock(&mutex);
  }
  shmem_barrier_all();
  CHECK(sum == 2 * additions && handled == additions && answered == additions);
  shmem_barrier_all();
}

static pthread_barrier_t start;
static void run_threads(int count, void* (*body)(void*)) {
  pthread_t running[holders];
  CHECK(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&running[i], NULL, body, NULL) == 0);
  for (int i = 0; i < count; ++i) CHECK(pthread_join(running[i], NULL) == 0);
  pthread_barrier_destroy(&start);
  shmem_barrier_all();
}

static void* run_thread(void* given) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < requests; ++i) {
    shmemx_am_request(i % pes, id_add, NULL, 0);
    if (i % 4 == 0) shmemx_am_poll();
    if (i % 100 == 0) shmemx_am_quiet();
  }
  return given;
}
static void several(void) {
  sum = handled = answered = 0;
  shmem_barrier_all();
  run_threads(threads, run_thread);
  const long wanted = (long)threads * (requests / pes + (me < requests % pes)) * pes;
  CHECK(sum == wanted && handled == wanted && answered == (long)threads * requests);
}

/* While a thread holds the mutex all others stay outside, those that want it, too, and no handler runs. */
static volatile int held;
static void* hold(void* given) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < turns; ++i) {
    if (i % 3 == 0) {
      while (!shmemx_am_mutex_trylock(&mutex)) continue;
    } else {
      shmemx_am_mutex_lock(&mutex);
    }
    CHECK(!held);
    held = 1;
    const long before = sum;
    shmemx_am_poll();
    sched_yield();
    CHECK(sum == before && held);
    sum = before + 1;
    held = 0;
    shmemx_am_mutex_unlock(&mutex);
    shmemx_am_request(next, id_add, NULL, 0);
    if (i % 8 == 0) shmemx_am_quiet();
  }
  return given;
}
static void take_turns(void) {
  sum = handled = answered = 0;
  shmem_barrier_all();
  run_threads(holders, hold);
  CHECK(sum == 2L * holders * turns && handled == (long)holders * turns && answered == handled);
}

/* Threads that only put and test go on while another one holds the mutex and waits for them. */
static int words[holders];
static void* put_and_test(void* given) {
  int* const word = &words[(long)given];
  for (int i = 1; i <= 64; ++i) {
    shmem_int_p(word, i, me);
    CHECK(shmem_int_test(word, SHMEM_CMP_EQ, i));
  }
  return NULL;
}
static void put_beside_a_mutex(void) {
  pthread_t running[holders];
  shmemx_am_mutex_lock(&mutex);
  for (long i = 0; i < holders; ++i) CHECK(pthread_create(&running[i], NULL, put_and_test, (void*)i) == 0);
  for (int i = 0; i < holders; ++i) CHECK(pthread_join(running[i], NULL) == 0);
  shmemx_am_mutex_unlock(&mutex);
  shmem_barrier_all();
}

#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
/* Threads of all PEs want one lock. Those of Open MPI's OpenSHMEM exclude only other PEs. */
static long lock, guarded;
static void* lock_and_add(void* given) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < turns / 4; ++i) {
    if (i % 3 == 0) {
      while (shmem_test_lock(&lock) != 0) sched_yield();
    } else {
      shmem_set_lock(&lock);
    }
    shmem_long_p(&guarded, shmem_long_g(&guarded, 0) + 1, 0);
    shmem_quiet();
    shmem_clear_lock(&lock);
  }
  return given;
}
static void take_locks(void) {
  run_threads(holders, lock_and_add);
  CHECK(shmem_long_g(&guarded, 0) == (long)pes * holders * (turns / 4));
}

/* A thread that waits for a PE which makes no progress keeps no other one from its work with a third PE. In Open MPI's
   OpenSHMEM it does: a quiet waits for the puts of all threads. */
static volatile sig_atomic_t told;
static volatile pid_t putter;
static char much[1 << 22];
static void tell(int number) { told = 1; }
static void* put_much(void* given) {
  putter = (pid_t)syscall(SYS_gettid);
  shmem_putmem(much, much, sizeof much, 1);
  return NULL;
}
static void pass_one_that_waits(void) {
  static int slow, word;
  if (me == 1) {
    signal(SIGUSR1, tell);
    shmem_int_p(&slow, (int)getpid(), 0);
  }
  shmem_barrier_all();
  if (me == 0) {
    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, put_much, NULL) == 0);
    await_sleep(&putter);
    for (int i = 1; i <= 50; ++i) {
      shmem_int_p(&word, i, 2);
      shmem_quiet();
      CHECK(shmem_int_g(&word, 2) == i);
    }
    CHECK(kill(slow, SIGUSR1) == 0);
    CHECK(pthread_join(waiting, NULL) == 0);
  } else if (me == 1) {
    while (!told) usleep(1000);
  }
  shmem_barrier_all();
}
#endif

/* Barriers end while another thread sends all the time. */
static int met;
static void* send_until_met(void* given) {
  long* const sent = given;
  while (!__atomic_load_n(&met, __ATOMIC_ACQUIRE)) {
    shmemx_am_request(next, id_count, NULL, 0);
    ++*sent;
  }
  return NULL;
}
static void meet_beside_a_sender(void) {
  static long sent, sent_here;
  pthread_t sender;
  counted = 0;
  shmem_barrier_all();
  CHECK(pthread_create(&sender, NULL, send_until_met, &sent) == 0);
  for (int i = 0; i < meetings; ++i) shmem_barrier_all();
  __atomic_store_n(&met, 1, __ATOMIC_RELEASE);
  CHECK(pthread_join(sender, NULL) == 0);
  shmem_long_p(&sent_here, sent, next);
  shmem_barrier_all();
  CHECK(counted == sent_here);
}

int main(int argc, char** argv) {
  int provided;
  CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
  me = shmem_my_pe();
  pes = shmem_n_pes();
  additions = loops(2000);
  requests = loops(20000);
  turns = loops(500);
  next = (me + 1) % pes;
  shmemx_am_attach(id_count, count_handler);
  shmemx_am_attach(id_add, add_handler);
  shmemx_am_attach(id_reply, reply_handler);
  if (argc > 1) compute();
  add();
  several();
  take_turns();
  put_beside_a_mutex();
#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
  take_locks();
  if (pes > 2) pass_one_that_waits();
#endif
  meet_beside_a_sender();
  shmem_finalize();
  return 0;
}
