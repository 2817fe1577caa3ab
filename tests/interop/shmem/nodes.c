/* What holds between PEs whichever way there is between them: the order of puts and flags, what a quiet waits for, and
   atomics of near and far PEs on one word. */

#include <shmem.h>
#include <shmemx.h>
#include <string.h>

#include "../check.h"

enum { block = 50000 };

static int me, pes, next, before, rounds;
static char there[block], here[block];
static int flag, done;
static uint64_t signal_word;

/* What comes last is looked at first. */
static void expect_block(int value) {
  for (int i = block - 1; i >= 0; --i) CHECK(there[i] == (char)value);
}

/* A flag comes after what was put before it, though nothing is waited for. */
static void flags(void) {
  for (int round = 1; round <= rounds; ++round) {
    memset(here, round, block);
    switch (round % 4) {
      case 0:
        shmem_putmem(there, here, block, next);
        shmem_fence();
        shmem_int_p(&flag, round, next);
        break;
      case 1:
        shmem_putmem_nbi(there, here, block, next);
        shmem_fence();
        shmem_int_atomic_set(&flag, round, next);
        break;
      case 2:
        shmem_char_iput(there, here, 1, 1, block, next);
        shmem_fence();
        shmem_int_atomic_inc(&flag, next);
        break;
      default:
        shmem_putmem_signal(there, here, block, &signal_word, (uint64_t)round, SHMEM_SIGNAL_SET, next);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, (uint64_t)round);
        shmem_int_p(&flag, round, me);
    }
    shmem_int_wait_until(&flag, SHMEM_CMP_EQ, round);
    expect_block(round);
    shmem_int_p(&done, round, before);
    shmem_int_wait_until(&done, SHMEM_CMP_EQ, round);
  }
  shmem_barrier_all();
}

/* The byte of a peer: where it is mapped, as it is there now. */
static char byte_of(const char* at, int pe) {
  const volatile char* const mapped = shmem_ptr(at, pe);
  return mapped != NULL ? *mapped : shmem_char_g(at, pe);
}

/* What PE 0 has put into the memory of one PE is there when another one hears of the quiet, or of the barrier, though
   the first looks at the network now and then only, and has much to take in. */
static void quiets(void) {
  enum { large = 1 << 20, busy = 10000000 };
  static int heard;
  const int target = pes - 2;
  const int reader = pes - 1;
  if (pes < 3) return;
  char* const memory = shmem_malloc(large);
  char* const source = malloc(large);
  for (int round = 1; round <= rounds; ++round) {
    memset(source, round, large);
    if (me == 0) {
      shmem_putmem(memory, source, 64, target);
      shmem_quiet();
      shmem_int_p(&heard, round, reader);
    } else if (me == reader) {
      shmem_int_wait_until(&heard, SHMEM_CMP_EQ, round);
      CHECK(byte_of(memory, target) == round);
    } else if (me == target && round <= 4) {
      for (volatile int idle = 0; idle < busy; ++idle) {
      }
    }
    shmem_barrier_all();
    if (me == 0) shmem_putmem(memory, source, large, target);
    shmem_barrier_all();
    if (me == reader) CHECK(byte_of(memory + large - 1, target) == round);
    shmem_sync_all();
  }
  free(source);
  shmem_free(memory);
}

/* The same for a barrier of two PEs of more, though one of them is busy with a handler when the other has come. The
   third one looks at its neighbour's memory. */
enum { id_stay = 1, busy_rounds = 100000000 };
static volatile int stays, released;
static void stay_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  stays = 1;
  for (int round = 0; round < busy_rounds && !released; ++round) continue;
}
static void barriers_of_two(void) {
  static char heard, put;
  static volatile int sent;
  static int comes;
  if (pes < 4 || shmem_team_n_pes(SHMEM_TEAM_SHARED) < 2) return;
  shmemx_am_attach(id_stay, stay_handler);
  if (me == 3) {
    shmemx_am_request(2, id_stay, NULL, 0);
    shmem_int_p((int*)&sent, 1, 2);
    while (!*(volatile int*)shmem_ptr((int*)&stays, 2)) continue;
    shmem_int_p(&comes, 1, 0);
    while (*(volatile char*)&heard == 0) shmemx_am_poll();
    CHECK(byte_of(&put, 2) == 1);
    shmem_int_p((int*)&released, 1, 2);
  } else if (me == 2) {
    while (!sent) continue; /* no call that would run the handler before the barrier */
    shmem_barrier(0, 1, 2, NULL);
  } else if (me == 0) {
    shmem_int_wait_until(&comes, SHMEM_CMP_EQ, 1);
    shmem_char_p(&put, 1, 2);
    shmem_barrier(0, 1, 2, NULL);
    shmem_char_p(&heard, 1, 3);
  }
  shmem_barrier_all();
}

/* A PE that computes, and whose calls are all for its neighbour, hears of far ones, and long before its thousandth
 * call. */
static void seldom_calls(void) {
  enum { compute = 5000, calls_max = 512 };
  static volatile int come, sent;
  static int to_near;
  if (pes < 4 || shmem_team_n_pes(SHMEM_TEAM_SHARED) < 2) return;
  for (int round = 1; round <= 8; ++round) {
    if (me == 0) {
      for (int i = 0; i < 4096; ++i) shmem_int_p(&to_near, i, 1); /* the network falls quiet */
      shmem_int_p((int*)&sent, -round, 2);
      while (sent != round) continue; /* without a call: the neighbour says that it is on its way */
      for (int calls = 0; come != round; ++calls) {
        CHECK(calls < calls_max);
        for (volatile int i = 0; i < compute; ++i) continue;
        shmem_int_p(&to_near, calls, 1);
      }
    } else if (me == 2) {
      shmem_int_wait_until((int*)&sent, SHMEM_CMP_EQ, -round);
      shmem_int_p((int*)&come, round, 0);
      shmem_int_p((int*)&come, round, 1);
    } else if (me == 1) {
      shmem_int_wait_until((int*)&come, SHMEM_CMP_EQ, round);
      shmem_int_p((int*)&sent, round, 0);
    }
    shmem_barrier_all();
  }
}

/* All PEs add to one word, its owner among them, and none is lost. */
static void sums(void) {
  static long sum, own;
  static unsigned int narrow;
  for (int i = 0; i < 300; ++i) {
    shmem_long_atomic_add(&sum, 1, 0);
    own = shmem_long_atomic_fetch_add(&sum, 2, 0);
    shmem_uint_atomic_xor(&narrow, 1u << (i % 32), 0);
  }
  shmem_barrier_all();
  CHECK(shmem_long_g(&sum, 0) == 900L * pes && own < 900L * pes);
  CHECK(shmem_uint_g(&narrow, 0) == (pes % 2 == 0 ? 0 : 0xfffff000u));
  shmem_barrier_all();
}

/* Gets under way to all PEs at once, more than the library keeps of them, come in each to its place. */
static void gets(void) {
  enum { count = 5000 };
  static int numbers[count];
  static int got[8][count], strided[count];
  for (int i = 0; i < count; ++i) numbers[i] = 10000 * me + i;
  shmem_barrier_all();
  for (int pe = 0; pe < pes; ++pe) {
    for (int i = 0; i < count; ++i) shmem_int_get_nbi(&got[pe][i], &numbers[i], 1, pe);
  }
  shmem_quiet();
  for (int pe = 0; pe < pes; ++pe) {
    for (int i = 0; i < count; ++i) CHECK(got[pe][i] == 10000 * pe + i);
  }
  /* All of these questions fit into a large packet. */
  const int last = pes - 1 - me;
  shmem_int_iget(strided, numbers, 1, 1, count, last);
  for (int i = 0; i < count; ++i) CHECK(strided[i] == 10000 * last + i);
  shmem_barrier_all();
}

/* The PEs that share memory are those whose objects have an address here, or this PE alone, if no stride leads there.
 */
static void shared_team(void) {
  const int size = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  int mapped = 0;
  for (int pe = 0; pe < pes; ++pe) {
    const int is_mapped = shmem_ptr(&flag, pe) != NULL;
    const int shares = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
    CHECK(shares == (size == 1 ? pe == me : is_mapped));
    mapped += is_mapped;
  }
  CHECK(size == 1 || size == mapped);
  const int here = shmem_team_my_pe(SHMEM_TEAM_SHARED);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_SHARED, here, SHMEM_TEAM_WORLD) == me);
}

/* The argument: how many PEs share memory. */
int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  rounds = loops(40);
  next = (me + 1) % pes;
  before = (me + pes - 1) % pes;
  CHECK(argc < 2 || shmem_team_n_pes(SHMEM_TEAM_SHARED) == atoi(argv[1]));
  shared_team();
  flags();
  quiets();
  barriers_of_two();
  seldom_calls();
  sums();
  gets();
  shmem_finalize();
  return 0;
}
