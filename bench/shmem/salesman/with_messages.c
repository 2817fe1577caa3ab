/* Active messages: a worker puts back what it found and asks for more in one request, which the master's handler
   answers at once if there is something to do. Otherwise the master sends it later, when others have put something
   back. */

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "bench/shmem/salesman/form.h"

enum { id_put_back_and_ask, id_assign, id_done, master_pe = 0, pes_max = 1024 };

/* At the master. Handlers and the program take turns by the mutex. */
static shmemx_am_mutex mutex;
static struct master master;
static int idle[pes_max], idle_count;

/* At a worker. */
static struct assignment given;
static volatile enum { nothing_yet, something_to_do, all_done } told;

static void put_back_and_ask(void* buffer, size_t bytes, int worker, shmemx_am_token_t token) {
  struct findings found;
  struct assignment next;
  memcpy(&found, buffer, bytes);
  shmemx_am_mutex_lock(&mutex);
  master_take_in(&master, &found);
  const int has_next = master_assign(&master, &next);
  if (!has_next) idle[idle_count++] = worker;
  shmemx_am_mutex_unlock(&mutex);
  if (has_next) shmemx_am_reply(id_assign, &next, sizeof next, token);
}

static void assign(void* buffer, size_t bytes, int pe, shmemx_am_token_t token) {
  (void)pe, (void)token;
  memcpy(&given, buffer, bytes);
  told = something_to_do;
}

static void done(void* buffer, size_t bytes, int pe, shmemx_am_token_t token) {
  (void)buffer, (void)bytes, (void)pe, (void)token;
  told = all_done;
}

struct job form_begin(void) {
  shmem_init();
  shmemx_am_mutex_init(&mutex);
  shmemx_am_attach(id_put_back_and_ask, put_back_and_ask);
  shmemx_am_attach(id_assign, assign);
  shmemx_am_attach(id_done, done);
  const struct job job = {shmem_my_pe(), shmem_n_pes()};
  if (job.size > pes_max) form_fail();
  return job;
}

void form_meet(void) { shmem_barrier_all(); }

void form_master(const struct instance* roads, struct path* best) {
  const int workers = shmem_n_pes() - 1;
  shmemx_am_mutex_lock(&mutex);
  master_begin(&master, roads);
  idle_count = 0;
  shmemx_am_mutex_unlock(&mutex);
  shmem_barrier_all(); /* from now on workers ask */
  for (int ended = 0; !ended;) {
    struct assignment next;
    int worker = 0;
    shmemx_am_poll();
    shmemx_am_mutex_lock(&mutex);
    if (idle_count > 0 && master_assign(&master, &next)) worker = idle[--idle_count];
    ended = idle_count == workers;
    shmemx_am_mutex_unlock(&mutex);
    if (worker > 0) shmemx_am_request(worker, id_assign, &next, sizeof next);
  }
  for (int worker = 1; worker <= workers; ++worker) shmemx_am_request(worker, id_done, NULL, 0);
  *best = master.best;
  master_end(&master);
}

void form_worker(const struct instance* roads) {
  struct findings found = {.tour.length = no_tour};
  shmem_barrier_all();
  for (;;) {
    told = nothing_yet;
    shmemx_am_request(master_pe, id_put_back_and_ask, &found, findings_bytes(&found));
    while (told == nothing_yet) shmemx_am_poll();
    if (told == all_done) return;
    work(roads, &given, &found);
  }
}

void form_end(void) { shmem_finalize(); }
void form_fail(void) {
  shmem_global_exit(1);
  abort(); /* not all headers say that it does not return */
}
