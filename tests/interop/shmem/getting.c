/* Many threads wait for gets at once. */

#include <pthread.h>
#include <shmem.h>
#include <time.h>

#include "../check.h"

enum { getters = 80, gets = 20 };

static int me, pes;
static int number;

static void* get_often(void* given) {
  for (int i = 0; i < gets; ++i) CHECK(shmem_int_g(&number, pes - 1 - me) == pes - 1 - me);
  return given;
}

int main(void) {
  pthread_t running[getters];
  int provided;
  CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
  me = shmem_my_pe();
  pes = shmem_n_pes();
  number = me;
  shmem_barrier_all();
  /* PEs that are asked answer late, so that all threads of the others wait. */
  if (me >= (pes + 1) / 2) nanosleep(&(struct timespec){.tv_nsec = 200 * 1000000}, NULL);
  for (int i = 0; i < getters; ++i) CHECK(pthread_create(&running[i], NULL, get_often, NULL) == 0);
  for (int i = 0; i < getters; ++i) CHECK(pthread_join(running[i], NULL) == 0);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
