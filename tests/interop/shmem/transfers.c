/* Puts and gets of each type and size, from each PE to the next. */

#include <shmem.h>
#include <string.h>

#include "../check.h"

enum { count = 37 };

static int me, next, before;
static shmem_ctx_t context;
static uint64_t signal_word;

/* Marks that differ by PE, index and use. */
static int mark(int pe, int i, int use) { return (pe * 5 + i + use * 11) % 100; }

#define FILL(array, use) \
  for (int i = 0; i < count; ++i) array[i] = mark(me, i, use)
#define EXPECT(array, i, pe, use) CHECK(array[i] == mark(pe, i, use))

#define TEST_TYPE(type, name)                                                                           \
  static void test_##name(void) {                                                                       \
    static type there[count], other[count], strided[2 * count];                                         \
    type own[count], got[count];                                                                        \
    memset(strided, 0, sizeof strided);                                                                 \
    FILL(own, 0);                                                                                       \
    FILL(other, 1);                                                                                     \
    signal_word = 0;                                                                                    \
    shmem_barrier_all();                                                                                \
    shmem_##name##_put(there, own, 9, next);                                                            \
    shmem_##name##_put_nbi(there + 9, own + 9, 9, next);                                                \
    shmem_ctx_##name##_put(context, there + 18, own + 18, 9, next);                                     \
    shmem_##name##_p(&there[27], own[27], next);                                                        \
    shmem_ctx_##name##_p(context, &there[28], own[28], next);                                           \
    shmem_##name##_iput(strided + 1, own, 2, 1, 5, next);                                               \
    shmem_##name##_put_signal(there + 29, own + 29, 8, &signal_word, 6, SHMEM_SIGNAL_SET, next);        \
    shmem_quiet();                                                                                      \
    shmem_ctx_##name##_put_signal_nbi(context, there, own, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, next); \
    CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 7) == 7);                                 \
    CHECK(shmem_signal_fetch(&signal_word) == 7);                                                       \
    shmem_barrier_all();                                                                                \
    for (int i = 0; i < count; ++i) EXPECT(there, i, before, 0);                                        \
    for (int i = 0; i < 10; ++i) CHECK(strided[i] == (i % 2 ? mark(before, i / 2, 0) : 0));             \
    shmem_##name##_get(got, other, 12, next);                                                           \
    shmem_##name##_get_nbi(got + 12, other + 12, 12, next);                                             \
    shmem_ctx_##name##_get(context, got + 24, other + 24, 12, next);                                    \
    shmem_quiet();                                                                                      \
    got[36] = shmem_##name##_g(&other[36], next);                                                       \
    for (int i = 0; i < count; ++i) EXPECT(got, i, next, 1);                                            \
    shmem_##name##_iget(got, other, 1, 3, 10, next);                                                    \
    for (int i = 0; i < 10; ++i) CHECK(got[i] == mark(next, 3 * i, 1));                                 \
    CHECK(shmem_ctx_##name##_g(context, &other[1], next) == mark(next, 1, 1));                          \
    shmem_barrier_all();                                                                                \
  }
AMITY_SHMEM_RMA_TYPES(TEST_TYPE)

#define TEST_BYTES(put, get, unit)                                               \
  {                                                                              \
    static unsigned char there[64 * 16], back[64 * 16];                          \
    for (int i = 0; i < 64 * unit; ++i) back[i] = (unsigned char)mark(me, i, 2); \
    shmem_barrier_all();                                                         \
    shmem_##put(there, back, 64, next);                                          \
    shmem_barrier_all();                                                         \
    for (int i = 0; i < 64 * unit; ++i) CHECK(there[i] == mark(before, i, 2));   \
    shmem_##get(there, back, 64, next);                                          \
    shmem_quiet();                                                               \
    for (int i = 0; i < 64 * unit; ++i) CHECK(there[i] == mark(next, i, 2));     \
    shmem_barrier_all();                                                         \
  }
#define TEST_SIZE(bits, bytes)            \
  TEST_BYTES(put##bits, get##bits, bytes) \
  TEST_BYTES(put##bits##_nbi, get##bits##_nbi, bytes)

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  next = (me + 1) % shmem_n_pes();
  before = (me + shmem_n_pes() - 1) % shmem_n_pes();
  CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) == 0);
#define CALL(type, name) test_##name();
  AMITY_SHMEM_RMA_TYPES(CALL)
  TEST_BYTES(putmem, getmem, 1)
  AMITY_SHMEM_SIZES(TEST_SIZE)
  shmem_ctx_quiet(context);
  shmem_ctx_destroy(context);

  /* Nothing, from nowhere. */
  shmem_putmem(NULL, NULL, 0, next);
  shmem_int_get(NULL, NULL, 0, next);
  shmem_int_iput(NULL, NULL, 1, 1, 0, next);

  /* Large ones, from the heap into the heap. */
  const size_t bytes = (size_t)5 << 20;
  unsigned char* const large = shmem_malloc(2 * bytes);
  memset(large, me + 1, bytes);
  shmem_barrier_all();
  shmem_putmem(large + bytes, large, bytes, next);
  shmem_barrier_all();
  for (size_t i = bytes; i < 2 * bytes; i += 4095) CHECK(large[i] == before + 1);
  shmem_finalize();
  return 0;
}
