/* Pure OpenSHMEM: each worker has a place of its own at the master, where it puts what it found and then raises a flag;
   the master looks at all of them in turn. The best tour is the master's, too, and whoever finds a better one takes a
   lock to write it. */

#include <shmem.h>
#include <stdlib.h>

#include "bench/shmem/salesman/form.h"

enum { master_pe = 0, nothing_yet = 0, something_to_do = 1, all_done = 2 };

/* Symmetric, on the heap. At the master, by worker: */
static struct findings* put_back;
static long* asks;
/* At a worker: */
static struct assignment* given;
static long* told;
/* At the master: */
static struct path* best_tour;
static int* best_length;
static long* best_lock;

struct job form_begin(void) {
  shmem_init();
  const size_t pes = (size_t)shmem_n_pes();
  put_back = shmem_calloc(pes, sizeof *put_back);
  asks = shmem_calloc(pes, sizeof *asks);
  given = shmem_calloc(1, sizeof *given);
  told = shmem_calloc(1, sizeof *told);
  best_tour = shmem_calloc(1, sizeof *best_tour);
  best_length = shmem_calloc(1, sizeof *best_length);
  best_lock = shmem_calloc(1, sizeof *best_lock);
  return (struct job){shmem_my_pe(), (int)pes};
}

void form_meet(void) { shmem_barrier_all(); }

static void tell(int worker, long what) {
  shmem_fence(); /* behind what it is told of */
  shmem_long_atomic_set(told, what, worker);
}

void form_master(const struct instance* roads, struct path* best) {
  const int workers = shmem_n_pes() - 1;
  struct master master;
  master_begin(&master, roads);
  *best_length = no_tour;
  best_tour->length = no_tour;
  shmem_barrier_all();
  for (int idle = 0; idle < workers;) {
    idle = 0;
    for (int worker = 1; worker <= workers; ++worker) {
      if (!shmem_long_test(&asks[worker], SHMEM_CMP_EQ, 1)) continue;
      master_take_in(&master, &put_back[worker]);
      put_back[worker].count = 0; /* it goes on asking until it is told something */
      master.best.length = shmem_int_atomic_fetch(best_length, master_pe);
      struct assignment next;
      if (!master_assign(&master, &next)) {
        ++idle;
        continue;
      }
      asks[worker] = 0;
      shmem_putmem(given, &next, sizeof next, worker);
      tell(worker, something_to_do);
    }
  }
  for (int worker = 1; worker <= workers; ++worker) {
    asks[worker] = 0;
    tell(worker, all_done);
  }
  shmem_quiet();
  *best = *best_tour;
  master_end(&master);
}

static void write_tour(const struct path* tour) {
  shmem_set_lock(best_lock);
  if (tour->length < shmem_int_atomic_fetch(best_length, master_pe)) {
    shmem_putmem(best_tour, tour, sizeof *tour, master_pe);
    shmem_fence();
    shmem_int_atomic_set(best_length, tour->length, master_pe);
    shmem_quiet();
  }
  shmem_clear_lock(best_lock);
}

void form_worker(const struct instance* roads) {
  const int me = shmem_my_pe();
  struct findings found = {.tour.length = no_tour};
  shmem_barrier_all();
  for (;;) {
    if (found.tour.length < no_tour) write_tour(&found.tour);
    *told = nothing_yet;
    shmem_putmem(&put_back[me], &found, findings_bytes(&found), master_pe);
    shmem_fence();
    shmem_long_atomic_set(&asks[me], 1, master_pe);
    shmem_long_wait_until(told, SHMEM_CMP_NE, nothing_yet);
    if (*told == all_done) return;
    given->best_length = shmem_int_atomic_fetch(best_length, master_pe); /* others may have found a better one since */
    work(roads, given, &found);
  }
}

void form_end(void) { shmem_finalize(); }
void form_fail(void) {
  shmem_global_exit(1);
  abort(); /* not all headers say that it does not return */
}
