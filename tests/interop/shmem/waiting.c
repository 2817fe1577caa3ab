/* Waiting and testing for what others write, and locks. */

#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>

#include "../check.h"

static int me, pes;

/* Of several that hold each is found sometime. */
static void turns(void) {
  static int ones[5] = {1, 1, 1, 1, 1};
  int found[5] = {0};
  for (int left = 5; left > 0;) {
    const size_t waited = shmem_int_wait_until_any(ones, 5, NULL, SHMEM_CMP_EQ, 1);
    const size_t tested = shmem_int_test_any(ones, 5, NULL, SHMEM_CMP_EQ, 1);
    CHECK(waited < 5 && tested < 5);
    left -= !found[waited]++;
  }
}

#define TEST_TYPE(type, name)                                                                                 \
  static void test_##name(void) {                                                                             \
    static type flags[8], turn;                                                                               \
    type wanted[8];                                                                                           \
    int status[8] = {0};                                                                                      \
    size_t indices[8];                                                                                        \
    const size_t count = (size_t)pes;                                                                         \
    for (int i = 0; i < 8; ++i) wanted[i] = (type)(i + 1), flags[i] = 0;                                      \
    shmem_barrier_all();                                                                                      \
    CHECK(!shmem_##name##_test(&flags[0], SHMEM_CMP_NE, 0) || pes > 0);                                       \
    for (int pe = 0; pe < pes; ++pe) shmem_##name##_p(&flags[me], (type)(me + 1), pe);                        \
    const size_t any = shmem_##name##_wait_until_any(flags, count, status, SHMEM_CMP_GT, 0);                  \
    CHECK(any < count && flags[any] == wanted[any]);                                                          \
    const size_t some = shmem_##name##_wait_until_some(flags, count, indices, status, SHMEM_CMP_NE, 0);       \
    CHECK(some >= 1 && some <= count && flags[indices[0]] == wanted[indices[0]]);                             \
    shmem_##name##_wait_until_all(flags, count, NULL, SHMEM_CMP_GE, 1);                                       \
    shmem_##name##_wait_until_all_vector(flags, count, status, SHMEM_CMP_EQ, wanted);                         \
    CHECK(shmem_##name##_wait_until_any_vector(flags, count, NULL, SHMEM_CMP_EQ, wanted) < count);            \
    CHECK(shmem_##name##_wait_until_some_vector(flags, count, indices, NULL, SHMEM_CMP_EQ, wanted) == count); \
    CHECK(shmem_##name##_test_all(flags, count, NULL, SHMEM_CMP_LE, (type)pes));                              \
    CHECK(!shmem_##name##_test_all(flags, count, NULL, SHMEM_CMP_LT, (type)pes));                             \
    CHECK(shmem_##name##_test_any(flags, count, NULL, SHMEM_CMP_EQ, (type)pes) == count - 1);                 \
    CHECK(shmem_##name##_test_any(flags, count, NULL, SHMEM_CMP_GT, (type)pes) == SIZE_MAX);                  \
    CHECK(shmem_##name##_test_some(flags, count, indices, NULL, SHMEM_CMP_GT, 1) == count - 1);               \
    CHECK(shmem_##name##_test_all_vector(flags, count, NULL, SHMEM_CMP_EQ, wanted));                          \
    status[0] = 1;                                                                                            \
    CHECK(shmem_##name##_test_any_vector(flags, count, status, SHMEM_CMP_EQ, wanted) - 1 <                    \
          (pes > 1 ? count - 1 : SIZE_MAX));                                                                  \
    CHECK(shmem_##name##_test_some_vector(flags, count, indices, status, SHMEM_CMP_EQ, wanted) == count - 1); \
    for (int i = 0; i < 8; ++i) status[i] = 1;                                                                \
    shmem_##name##_wait_until_all(flags, count, status, SHMEM_CMP_EQ, 100); /* none counts: no wait */        \
    CHECK(shmem_##name##_wait_until_any(flags, count, status, SHMEM_CMP_EQ, 100) == SIZE_MAX);                \
    CHECK(shmem_##name##_wait_until_some(flags, count, indices, status, SHMEM_CMP_EQ, 100) == 0);             \
    /* Around the ring, and around again. */                                                                  \
    for (int round = 1; round <= 3; ++round) {                                                                \
      if (me > 0) shmem_##name##_wait_until(&turn, SHMEM_CMP_EQ, (type)round);                                \
      shmem_##name##_p(&turn, (type)round, (me + 1) % pes);                                                   \
      if (me == 0) shmem_##name##_wait_until(&turn, SHMEM_CMP_GE, (type)round);                               \
    }                                                                                                         \
    shmem_##name##_wait(&turn, 0);                                                                            \
    shmem_barrier_all();                                                                                      \
    turn = 0;                                                                                                 \
  }
AMITY_SHMEM_WAIT_TYPES(TEST_TYPE)

static void locks(void) {
  static long lock, others;
  static volatile long held, sum;
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 0) {
      while (shmem_test_lock(&lock) != 0) {
      }
    } else {
      shmem_set_lock(&lock);
    }
    /* Nobody else is here. */
    CHECK(shmem_long_g((const long*)&held, 0) == 0);
    shmem_long_p((long*)&held, 1, 0);
    shmem_long_p((long*)&sum, shmem_long_g((const long*)&sum, 0) + 1, 0);
    shmem_long_p((long*)&held, 0, 0);
    shmem_quiet();
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  CHECK(shmem_long_g((const long*)&sum, 0) == 200L * pes);
  if (me == 0) shmem_set_lock(&others);
  shmem_barrier_all();
  CHECK(shmem_test_lock(&others) == 1);
  shmem_barrier_all();
  if (me == 0) shmem_clear_lock(&others);
  shmem_barrier_all();
}

/* Who came first is first. A PE has come when it handles messages while it waits: it handles one in each poll, and
   polls twice at most before it has drawn its ticket. */
static void nothing_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {}
static void queue(void) {
  enum { id_nothing = 1, polls = 4, pes_max = 8 };
  static long lock;
  static int turn, holders[pes_max], count;
  shmemx_am_attach(id_nothing, nothing_handler);
  for (int pe = 0; pe < pes; ++pe) {
    if (shmem_ptr(&turn, pe) == NULL) return; /* over a network it handles messages while it draws */
  }
  if (me == 0) {
    shmem_set_lock(&lock);
    for (int pe = 1; pe < pes; ++pe) {
      shmem_int_p(&turn, 1, pe);
      for (int i = 0; i < polls; ++i) {
        shmemx_am_request(pe, id_nothing, NULL, 0);
        shmemx_am_quiet();
      }
    }
  } else {
    shmem_int_wait_until(&turn, SHMEM_CMP_EQ, 1);
    shmem_set_lock(&lock);
    shmem_int_p(&holders[shmem_int_atomic_fetch_inc(&count, 0)], me, 0);
  }
  shmem_clear_lock(&lock);
  shmem_barrier_all();
  for (int i = 0; i < pes - 1 && me == 0; ++i) CHECK(holders[i] == i + 1);
}

/* What a wait returns is what has ended it, whatever the variable is by then. */
static uint64_t flickering;
static int seen_enough;
static void* flicker(void* given) {
  for (uint64_t i = 0; !__atomic_load_n(&seen_enough, __ATOMIC_RELAXED); ++i) {
    __atomic_store_n(&flickering, i % 2, __ATOMIC_RELAXED);
  }
  return given;
}
static void see_what_flickers(void) {
  enum { waits = 20000 };
  pthread_t running;
  CHECK(pthread_create(&running, NULL, flicker, NULL) == 0);
  for (int i = 0; i < waits; ++i) CHECK(shmem_signal_wait_until(&flickering, SHMEM_CMP_EQ, 1) == 1);
  __atomic_store_n(&seen_enough, 1, __ATOMIC_RELAXED);
  CHECK(pthread_join(running, NULL) == 0);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  turns();
#define CALL(type, name) test_##name();
  AMITY_SHMEM_WAIT_TYPES(CALL)
  locks();
  queue();
  see_what_flickers();
  shmem_finalize();
  return 0;
}
