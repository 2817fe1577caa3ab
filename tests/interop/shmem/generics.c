/* C11: functions that are chosen by the types of their arguments, and a tool in front of one of them. */

#include <shmem.h>

#include "../check.h"

void pshmem_int_p(int* dest, int value, int pe);
static int seen_by_tool;
void shmem_int_p(int* dest, int value, int pe) {
  ++seen_by_tool;
  pshmem_int_p(dest, value, pe);
}

static int i_word, i_block[4];
static double d_word;
static unsigned long bits;
static uint64_t signal_word;
static volatile long flag;

/* The commas of a compound literal are not those between arguments, with a context and without. */
static long box[8], sums[2];
static uint64_t box_signal;
static void compound_literals(int me, int pes) {
  const int next = (me + 1) % pes;
  shmem_ctx_t context;
  CHECK(shmem_ctx_create(0, &context) == 0);
#define EXPECT_BOX(...)                                                                               \
  do {                                                                                                \
    const long expected[] = {__VA_ARGS__};                                                            \
    shmem_barrier_all();                                                                              \
    for (int i = 0; i < (int)(sizeof expected / sizeof *expected); ++i) CHECK(box[i] == expected[i]); \
    shmem_barrier_all();                                                                              \
  } while (0)
  shmem_put(box, (long[]){3, 4}, 2, next);
  EXPECT_BOX(3, 4);
  shmem_put(box + 1, (const long[]){5, 6, 7, 8}, 4, next);
  EXPECT_BOX(3, 5, 6, 7, 8);
  shmem_put(context, box, (long[]){1, 2}, 2, next);
  EXPECT_BOX(1, 2, 6);
  shmem_put((shmem_ctx_t)context, (long*)(box + 2), (long[]){9}, 1, next);
  EXPECT_BOX(1, 2, 9);
  shmem_put(SHMEM_CTX_DEFAULT, (box), (long[]){2, 1, 0}, 3, next);
  EXPECT_BOX(2, 1, 0);
  shmem_put_nbi(box, (long[]){4, 4, 4}, 3, next);
  shmem_iput(box, (long[]){7, 8}, 2, 1, 2, next);
  shmem_quiet();
  EXPECT_BOX(7, 4, 8);
  shmem_put_signal(box, (long[]){1, 2, 3}, 3, &box_signal, 1, SHMEM_SIGNAL_ADD, next);
  shmem_wait_until_any(&box_signal, 1, (int[]){0, 0}, SHMEM_CMP_EQ, 1);
  CHECK(shmem_test_all_vector(box, 3, NULL, SHMEM_CMP_EQ, ((long[]){1, 2, 3})));
  CHECK(shmem_test_all_vector(box, 3, NULL, SHMEM_CMP_EQ, (long[]){1, 2, 3}));
  CHECK(shmem_atomic_fetch_add(context, &box[7], ((long[]){5, 6})[1], me) == 0 && box[7] == 6);
  shmem_broadcast(SHMEM_TEAM_WORLD, sums, box, 2, 0);
  shmem_sum_reduce(SHMEM_TEAM_WORLD, sums, &(long[]){1, 2}[0], 0);
  shmem_ctx_destroy(context);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int next = (me + 1) % shmem_n_pes();
  const int own[4] = {1, 2, 3, me};
  shmem_p(&i_word, 5, next);
  shmem_p(&d_word, 2.5, next);
  shmem_p(SHMEM_CTX_DEFAULT, (long*)&flag, 7L, next);
  shmem_put(i_block, own, 2, next);
  shmem_put(SHMEM_CTX_DEFAULT, i_block + 2, own + 2, 1, next);
  shmem_put_signal(&i_block[3], &own[3], 1, &signal_word, 1, SHMEM_SIGNAL_ADD, next);
  shmem_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
  shmem_wait_until(&flag, SHMEM_CMP_NE, 0);
  shmem_wait(&flag, 0);
  shmem_wait(&i_word, 0);
  shmem_barrier_all();
  CHECK(i_word == 5 && d_word == 2.5 && flag == 7 && i_block[0] + i_block[1] + i_block[2] == 6);
  CHECK(shmem_g(&d_word, next) == 2.5 && shmem_g(SHMEM_CTX_DEFAULT, &i_block[3], next) == me);
  shmem_barrier_all();
  shmem_atomic_add(&i_word, 1, 0);
  shmem_atomic_or(SHMEM_CTX_DEFAULT, &bits, 1ul << me, 0);
  shmem_quiet();
  shmem_sync(SHMEM_TEAM_WORLD);
  CHECK(shmem_atomic_fetch(&i_word, 0) == 5 + shmem_n_pes());
  CHECK(shmem_atomic_fetch(&bits, 0) == (1ul << shmem_n_pes()) - 1);
  static int sum;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &i_block[0], 1);
  CHECK(sum == shmem_n_pes() && seen_by_tool == 1);
  compound_literals(me, shmem_n_pes());
  shmem_finalize();
  return 0;
}
