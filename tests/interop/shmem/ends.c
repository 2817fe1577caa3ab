/* Jobs that a PE ends, wherever it is and whatever the others do. One name for each way. */

#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <string.h>

#include "../check.h"

enum { id_end = 1, id_wait = 2, threads = 4 };

static int word, waiting;
static char bytes[4096];

static void end_handler(void* buffer, size_t size, int source, shmemx_am_token_t token) { shmem_global_exit(0); }
static void wait_handler(void* buffer, size_t size, int source, shmemx_am_token_t token) {
  waiting = 1;
  shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99);
}

static void* wait_in_thread(void* given) {
  switch (*(int*)given) {
    case 0:
      shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99);
      break;
    case 1:
      for (;;) shmemx_am_poll();
    case 2:
      for (;;) shmem_putmem(bytes, bytes, sizeof bytes, 1 - shmem_my_pe());
    default:
      for (;;) shmem_int_test(&word, SHMEM_CMP_EQ, 99);
  }
  return NULL;
}
static void start_threads(int all_put) {
  static int numbers[threads];
  for (int i = 0; i < threads; ++i) {
    pthread_t started;
    numbers[i] = all_put ? 2 : i;
    CHECK(pthread_create(&started, NULL, wait_in_thread, &numbers[i]) == 0);
  }
}

int main(int argc, char** argv) {
  const char* const way = argv[1];
  int provided;
#define IF(name) if (strcmp(way, #name) == 0)
  CHECK(argc == 2);
  shmem_init_thread(strncmp(way, "threads", 7) == 0 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
  const int me = shmem_my_pe();
  shmemx_am_attach(id_end, end_handler);
  shmemx_am_attach(id_wait, wait_handler);
  IF(threads) start_threads(0);
  IF(threads_first) start_threads(0);
  IF(threads_put) start_threads(1);
  shmem_barrier_all();
  IF(all) shmem_global_exit(0);
  if (me == 0) {
    IF(threads_first) shmem_global_exit(0); /* PE 1 hears of it after this one's own threads */
  }
  if (me == 1) {
    IF(failing) shmem_global_exit(3);
    IF(waiting) shmem_global_exit(0);
    IF(polling) shmem_global_exit(0);
    IF(threads) shmem_global_exit(0);
    IF(threads_put) shmem_global_exit(0);
    IF(in_handler) shmemx_am_request(0, id_end, NULL, 0);
    IF(computing) shmemx_am_request(0, id_end, NULL, 0);
    IF(handler_waits) {
      shmemx_am_request(0, id_wait, NULL, 0);
      while (!shmem_int_g(&waiting, 0)) continue;
      shmem_global_exit(0);
    }
  }
  IF(polling) for (;;) shmemx_am_poll();
  if (me == 0) {
    IF(computing) for (volatile int forever = 1; forever;) continue;
  }
  shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99); /* for ever */
  return 0;
}
