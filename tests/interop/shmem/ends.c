/* Jobs that a PE ends, wherever it is and whatever the others do. One name for each way. */

#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

enum { id_end = 1, id_wait = 2, id_nothing = 3 };
enum role { wait_for_word, poll_messages, put, test_word, roles };

static int word, waiting, process;
static long lock;
static volatile sig_atomic_t told;
static char bytes[4096];

static void end_handler(void* buffer, size_t size, int source, shmemx_am_token_t token) { shmem_global_exit(0); }
static void wait_handler(void* buffer, size_t size, int source, shmemx_am_token_t token) {
  waiting = 1;
  shmem_set_lock(&lock);
}

static void nothing_handler(void* buffer, size_t size, int source, shmemx_am_token_t token) {}

static void tell(int signal) { told = 1; }

static void* wait_in_thread(void* given) {
  for (;;) {
    switch (*(enum role*)given) {
      case wait_for_word:
        shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99);
        break;
      case poll_messages:
        shmemx_am_poll();
        break;
      case put:
        shmem_putmem(bytes, bytes, sizeof bytes, 1 - shmem_my_pe());
        break;
      default:
        shmem_int_test(&word, SHMEM_CMP_EQ, 99);
    }
  }
  return NULL;
}
static void start_thread(enum role given) {
  static enum role given_to[roles];
  static int started;
  pthread_t thread;
  given_to[started] = given;
  CHECK(pthread_create(&thread, NULL, wait_in_thread, &given_to[started++]) == 0);
}
static void start_threads(void) {
  for (int i = 0; i < roles; ++i) start_thread((enum role)i);
}

int main(int argc, char** argv) {
  const char* const way = argv[1];
  int provided;
#define IF(name) if (strcmp(way, #name) == 0)
  CHECK(argc == 2);
  IF(uninitialised) {
    const char* const rank = getenv("AMITY_RANK");
    if (rank != NULL && strcmp(rank, "1") == 0) return 0;
  }
  shmem_init_thread(strncmp(way, "threads", 7) == 0 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
  const int me = shmem_my_pe();
  shmemx_am_attach(id_end, end_handler);
  shmemx_am_attach(id_wait, wait_handler);
  shmemx_am_attach(id_nothing, nothing_handler);
  IF(threads) start_threads();
  IF(threads_first) start_threads();
  IF(threads_put) {
    for (int i = 0; i < roles; ++i) start_thread(put);
  }
  IF(all_at_last) {
    signal(SIGUSR1, tell);
    if (me == 0) shmem_int_p(&process, (int)getpid(), 1);
  }
  shmem_barrier_all();
  IF(all) shmem_global_exit(0);
  IF(all_at_last) { /* PE 1 is out of credits then, and PE 0 leaves without a look at what has come */
    while (me == 0 && !told) usleep(1000);
    if (me == 1) {
      for (int i = 0; i < 2; ++i) shmemx_am_request(0, id_nothing, NULL, 0);
      CHECK(kill(process, SIGUSR1) == 0);
    }
    shmem_global_exit(0);
  }
  if (me == 0) {
    IF(threads_first) shmem_global_exit(0); /* PE 1 hears of it after this one's own threads */
  }
  if (me == 1) {
    IF(failing) shmem_global_exit(3);
    IF(waiting) shmem_global_exit(0);
    IF(endless) shmem_global_exit(0);
    IF(unfinished) _exit(0);
    IF(polling) shmem_global_exit(0);
    IF(threads) shmem_global_exit(0);
    IF(threads_put) shmem_global_exit(0);
    IF(in_handler) shmemx_am_request(0, id_end, NULL, 0);
    IF(computing) shmemx_am_request(0, id_end, NULL, 0);
    IF(satisfied) shmemx_am_request(0, id_end, NULL, 0);
    IF(handler_waits) {
      shmem_set_lock(&lock);
      shmemx_am_request(0, id_wait, NULL, 0);
      while (!shmem_int_g(&waiting, 0)) continue;
      shmem_global_exit(0);
    }
  }
  IF(polling) for (;;) shmemx_am_poll();
  IF(satisfied) for (;;) shmem_int_wait_until(&waiting, SHMEM_CMP_EQ, 0);
  IF(forked) { /* a child is no PE */
    if (me == 0) {
      const pid_t child = fork();
      if (child == 0) exit(0);
      CHECK(waitpid(child, NULL, 0) == child);
    }
    shmem_barrier_all();
    return 0;
  }
  if (me == 0) {
    IF(endless) for (volatile int forever = 1; forever;) continue;
    IF(computing) for (volatile int forever = 1; forever;) continue;
  }
  shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99); /* for ever */
  return 0;
}
