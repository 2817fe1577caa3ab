/* Atomics of each type, of all PEs on the same words. */

#include <shmem.h>

#include "../check.h"

static int me, pes;
static int swaps; /* of each PE: fewer over a network */
static shmem_ctx_t context;

#define TEST_SWAPS(type, name)                                                                        \
  static void test_swaps_##name(void) {                                                               \
    static type word, token = 1;                                                                      \
    shmem_##name##_atomic_set(&word, (type)(me + 1), me);                                             \
    shmem_barrier_all();                                                                              \
    for (int pe = 0; pe < pes; ++pe) CHECK(shmem_##name##_atomic_fetch(&word, pe) == (type)(pe + 1)); \
    shmem_barrier_all();                                                                              \
    /* The token of PE 0 passes through all hands. */                                                 \
    type held = shmem_##name##_atomic_swap(&token, (type)(me + 2), 0);                                \
    type fetched;                                                                                     \
    shmem_##name##_atomic_fetch_nbi(&fetched, &token, 0);                                             \
    shmem_quiet();                                                                                    \
    CHECK(held >= 1 && held <= (type)(pes + 1) && fetched >= 2);                                      \
    CHECK(shmem_ctx_##name##_atomic_fetch(context, &word, 0) == 1);                                   \
    shmem_barrier_all();                                                                              \
    /* Whatever is swapped, nothing is lost. */                                                       \
    static long sum;                                                                                  \
    sum = 0;                                                                                          \
    shmem_barrier_all();                                                                              \
    for (int i = 0; i < swaps; ++i) held = shmem_##name##_atomic_swap(&token, held, 0);               \
    shmem_long_atomic_add(&sum, (long)held, 0);                                                       \
    shmem_barrier_all();                                                                              \
    if (me == 0) CHECK(sum + (long)token == (long)pes * (pes + 3) / 2 + 1);                           \
    shmem_ctx_##name##_atomic_set(context, &word, 9, me);                                             \
    CHECK(shmem_##name##_swap(&word, 8, me) == 9 && shmem_##name##_fetch(&word, me) == 8);            \
  }
AMITY_SHMEM_SWAP_TYPES(TEST_SWAPS)

#define TEST_ARITHMETIC(type, name)                                                                         \
  static void test_arithmetic_##name(void) {                                                                \
    static type sum, turn, drawn[64];                                                                       \
    type fetched;                                                                                           \
    for (int i = 0; i < 4; ++i) {                                                                           \
      shmem_##name##_atomic_add(&sum, 3, 0);                                                                \
      shmem_##name##_atomic_inc(&sum, 0);                                                                   \
      shmem_##name##_add(&sum, 2, 0);                                                                       \
      shmem_##name##_inc(&sum, 0);                                                                          \
      shmem_ctx_##name##_atomic_add(context, &sum, 1, 0);                                                   \
      shmem_##name##_atomic_add(&drawn[(int)shmem_##name##_atomic_fetch_inc(&turn, 0)], 1, 0);              \
      shmem_##name##_atomic_fetch_add_nbi(&fetched, &turn, 1, 0);                                           \
      shmem_quiet();                                                                                        \
      shmem_##name##_inc(&drawn[(int)fetched], 0);                                                          \
    }                                                                                                       \
    shmem_barrier_all();                                                                                    \
    CHECK(shmem_##name##_atomic_fetch(&sum, 0) == (type)(32 * pes));                                        \
    for (int i = 0; i < 64; ++i) CHECK(shmem_##name##_g(&drawn[i], 0) == (i < 8 * pes ? 1 : 0));            \
    CHECK(shmem_##name##_g(&turn, 0) == (type)(8 * pes));                                                   \
    shmem_barrier_all();                                                                                    \
    /* One after the other, by compare and swap. */                                                         \
    while (shmem_##name##_atomic_compare_swap(&sum, (type)(32 * pes + me), (type)(32 * pes + me + 1), 0) != \
           (type)(32 * pes + me)) {                                                                         \
    }                                                                                                       \
    /* And in no order: additions by compare and swap. */                                                   \
    static type added;                                                                                      \
    for (int i = 0; i < swaps; ++i) {                                                                       \
      type seen = shmem_##name##_g(&added, 0), found;                                                       \
      while ((found = shmem_##name##_atomic_compare_swap(&added, seen, (type)(seen + 1), 0)) != seen) {     \
        seen = found;                                                                                       \
      }                                                                                                     \
    }                                                                                                       \
    shmem_barrier_all();                                                                                    \
    CHECK(shmem_##name##_fadd(&sum, 0, 0) == (type)(33 * pes));                                             \
    CHECK(shmem_##name##_g(&added, 0) == (type)(swaps * pes));                                              \
    CHECK(shmem_##name##_cswap(&sum, 0, 5, 0) == (type)(33 * pes));                                         \
    shmem_barrier_all();                                                                                    \
    shmem_##name##_finc(&sum, 0);                                                                           \
    shmem_barrier_all();                                                                                    \
    CHECK(shmem_##name##_fetch(&sum, 0) == (type)(34 * pes));                                               \
  }
AMITY_SHMEM_WIDE_INTEGERS(TEST_ARITHMETIC)

#define TEST_BITWISE(type, name)                                                      \
  static void test_bitwise_##name(void) {                                             \
    static type ored, anded = (type)0xff, xored;                                      \
    const type bit = (type)1 << me;                                                   \
    CHECK((shmem_##name##_atomic_fetch_or(&ored, bit, 0) & bit) == 0);                \
    shmem_##name##_atomic_and(&anded, (type)~bit, 0);                                 \
    shmem_##name##_atomic_xor(&xored, bit, 0);                                        \
    shmem_barrier_all();                                                              \
    const type all = (type)((1 << pes) - 1);                                          \
    CHECK(shmem_##name##_g(&ored, 0) == all && shmem_##name##_g(&xored, 0) == all);   \
    CHECK(shmem_##name##_g(&anded, 0) == (type)(0xff & ~all));                        \
    shmem_barrier_all();                                                              \
    CHECK((shmem_ctx_##name##_atomic_fetch_xor(context, &xored, bit, 0) & bit) != 0); \
    CHECK((shmem_##name##_atomic_fetch_and(&ored, (type)~bit, 0) & bit) != 0);        \
    shmem_##name##_atomic_or(&anded, bit, 0);                                         \
    shmem_barrier_all();                                                              \
    CHECK(shmem_##name##_g(&ored, 0) == 0 && shmem_##name##_g(&xored, 0) == 0);       \
    CHECK(shmem_##name##_g(&anded, 0) == (type)0xff);                                 \
  }
AMITY_SHMEM_BITWISE_TYPES(TEST_BITWISE)

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  swaps = shmem_team_n_pes(SHMEM_TEAM_SHARED) == pes ? 2000 : 60;
  CHECK(shmem_ctx_create(0, &context) == 0);
#define SWAPS(type, name) test_swaps_##name();
  AMITY_SHMEM_SWAP_TYPES(SWAPS)
#define ARITHMETIC(type, name) test_arithmetic_##name();
  AMITY_SHMEM_WIDE_INTEGERS(ARITHMETIC)
#define BITWISE(type, name) test_bitwise_##name();
  AMITY_SHMEM_BITWISE_TYPES(BITWISE)
  shmem_finalize();
  return 0;
}
