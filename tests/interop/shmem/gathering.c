/* A PE that waits for the others, in whatever call, runs the handlers that one of them waits for before it comes. */

#include <shmem.h>
#include <shmemx.h>

#include "../check.h"

/* The last one may be ahead of the others: it has asked that often at least, or exactly, if a meeting is between. */
enum { id_add = 1, id_added = 2 };

static int me, pes;
static int asked, answered;

static void add(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  ++asked;
  shmemx_am_reply(id_added, buffer, bytes, token);
}
static void added(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { ++answered; }

/* The last one asks all others, and comes when they have answered. */
static void come_late(void) {
  static int wanted;
  wanted += pes;
  if (me != pes - 1) return;
  for (int pe = 0; pe < pes; ++pe) shmemx_am_request(pe, id_add, NULL, 0);
  shmemx_am_quiet();
  CHECK(answered == wanted);
}

/* They stay as they were initialised. */
static long sync_words[SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE +
                       SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE];
static long* sync_area(void) {
  shmem_barrier_all();
  return sync_words;
}

static int32_t in[8], out[64];
static int64_t in_64[8], out_64[64];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 8], sum, one;

static void meetings(void) {
  come_late();
  shmem_barrier_all();
  CHECK(asked >= 1);
  come_late();
  shmem_sync_all();
  CHECK(asked >= 2);
  come_late();
  shmem_barrier(0, 0, pes, sync_area());
  come_late();
  shmem_sync(0, 0, pes, sync_area());
  CHECK(asked == 4);
}

static void exchanges(void) {
  for (int i = 0; i < 8; ++i) in_64[i] = in[i] = me + 1;
  long* const area = sync_area();
  come_late();
  shmem_broadcast32(out, in, 1, pes - 1, 0, 0, pes, area);
  CHECK(me == pes - 1 || out[0] == pes);
  sync_area();
  come_late();
  shmem_collect32(out, in, 1, 0, 0, pes, area);
  for (int pe = 0; pe < pes; ++pe) CHECK(out[pe] == pe + 1);
  sync_area();
  come_late();
  shmem_fcollect64(out_64, in_64, 1, 0, 0, pes, area);
  for (int pe = 0; pe < pes; ++pe) CHECK(out_64[pe] == pe + 1);
  sync_area();
  out[0] = 0;
  come_late();
  shmem_alltoall32(out, in, 1, 0, 0, pes, area);
  CHECK(out[pes - 1] == pes);
  sync_area();
  come_late();
  shmem_alltoalls64(out_64, in_64, 1, 1, 1, 0, 0, pes, area);
  CHECK(out_64[pes - 1] == pes);
  sync_area();
  one = 1;
  come_late();
  shmem_long_sum_to_all(&sum, &one, 1, 0, 0, pes, work, area);
  CHECK(sum == pes);
  shmem_barrier_all();
}

static void memory(void) {
  come_late();
  int* taken = shmem_malloc(sizeof *taken);
  come_late();
  taken = shmem_realloc(taken, 100 * sizeof *taken);
  come_late();
  shmem_free(taken);
  come_late();
  taken = shmem_calloc(10, sizeof *taken);
  CHECK(taken[9] == 0);
  shmem_free(taken);
  come_late();
  taken = shmem_align(256, sizeof *taken);
  CHECK((size_t)taken % 256 == 0);
  shmem_free(taken);
}

/* The last one tells the others, once they have answered. */
static void waits(void) {
  static int word;
  static long lock;
  for (int way = 0; way < 5; ++way) {
    shmem_barrier_all();
    if (way == 4 && me == pes - 1) shmem_set_lock(&lock);
    shmem_barrier_all();
    come_late();
    for (int pe = 0; pe < pes && me == pes - 1; ++pe) shmem_int_atomic_set(&word, way + 1, pe);
    if (way == 0) shmem_int_wait_until(&word, SHMEM_CMP_EQ, 1);
    if (way == 1)
      while (!shmem_int_test(&word, SHMEM_CMP_EQ, 2)) continue;
    if (way == 2)
      while (shmem_int_g(&word, pes - 1) != 3) continue;
    if (way == 3)
      while (shmem_int_atomic_fetch(&word, pes - 1) != 4) continue;
    if (way == 4) {
      if (me != pes - 1) shmem_set_lock(&lock);
      shmem_clear_lock(&lock);
    }
  }
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  for (size_t i = 0; i < sizeof sync_words / sizeof *sync_words; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  shmemx_am_attach(id_add, add);
  shmemx_am_attach(id_added, added);
  meetings();
  exchanges();
  memory();
  waits();
  come_late();
  shmem_finalize();
  return 0;
}
