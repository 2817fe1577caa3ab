/* Many threads wait for gets at once. */

#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "../sleeps.h"

enum { getters = 80, gets = 20 };

static int me, pes;
static int number;
static int partner; /* the process that waits for this PE */
static volatile pid_t numbers[getters];
static volatile sig_atomic_t told;

static void tell(int signal) { told = 1; }

static void* get_often(void* given) {
  *(volatile pid_t*)given = (pid_t)syscall(SYS_gettid);
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
  signal(SIGUSR1, tell);
  shmem_int_p(&partner, (int)getpid(), pes - 1 - me);
  shmem_barrier_all();
  /* The PEs of the upper half make no progress until all threads that get from them have been seen asleep. */
  const int is_late = me >= (pes + 1) / 2;
  while (is_late && !told) usleep(1000);
  for (int i = 0; i < getters; ++i) CHECK(pthread_create(&running[i], NULL, get_often, (void*)&numbers[i]) == 0);
  if (!is_late && me != pes - 1 - me) {
    for (int i = 0; i < getters; ++i) await_sleep(&numbers[i]);
    CHECK(kill(partner, SIGUSR1) == 0);
  }
  for (int i = 0; i < getters; ++i) CHECK(pthread_join(running[i], NULL) == 0);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
