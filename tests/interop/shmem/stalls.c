/* Waits of PE 1 that do not end while PE 0 sleeps, one for each name: PE 1 reports them. */

#include <shmem.h>
#include <shmemx.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

static int word, into[100];
static long lock;
static int handled;

static void count(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { ++handled; }

int main(int argc, char** argv) {
  const char* const call = argv[1];
#define IF(name) if (strcmp(call, #name) == 0)
  shmem_init();
  const int me = shmem_my_pe();
  shmemx_am_attach(1, count);
  if (me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me == 0) {
    sleep(4);
    shmem_int_p(&word, 7, 1);
    shmem_clear_lock(&lock);
  } else {
    IF(word) shmem_int_wait_until(&word, SHMEM_CMP_EQ, 7);
    IF(lock) shmem_set_lock(&lock);
    if (strcmp(call, "get") == 0 || strcmp(call, "gets") == 0 || strcmp(call, "quiet") == 0) {
      /* PE 0 may still be in the barrier and answer, so PE 1 asks until PE 0 has slept. */
      do {
        IF(get) shmem_int_g(&word, 0);
        IF(gets) { /* more than have credits */
          for (int i = 0; i < 100; ++i) shmem_int_get_nbi(&into[i], &word, 1, 0);
        }
        IF(quiet) {
          shmemx_am_request(0, 1, NULL, 0);
          shmemx_am_quiet();
        }
      } while (!shmem_int_test(&word, SHMEM_CMP_EQ, 7));
    }
    /* barrier: PE 1 enters the next one at once */
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
