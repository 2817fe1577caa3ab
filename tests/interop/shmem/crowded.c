/* Whether PEs that look for something in a loop let others run: those with less than a CPU each do.

   "together": all PEs are bound to one CPU, and the program starts them itself. "bound": each to another one. */

#define _GNU_SOURCE
#include <sched.h>
#include <shmem.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"

/* In place of the C library's. */
static int yields;
int sched_yield(void) {
  ++yields;
  return (int)syscall(SYS_sched_yield);
}

static int allowed_cpus(cpu_set_t* allowed) {
  CHECK(sched_getaffinity(0, sizeof *allowed, allowed) == 0);
  return CPU_COUNT(allowed);
}
static void bind_to(const cpu_set_t* allowed, int place) {
  int cpu = 0;
  while (!CPU_ISSET(cpu, allowed) || place-- > 0) ++cpu;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  CHECK(sched_setaffinity(0, sizeof own, &own) == 0);
}

int main(int argc, char** argv) {
  static int never;
  cpu_set_t allowed;
  const int cpus = allowed_cpus(&allowed);
  const char* const rank = getenv("AMITY_RANK");
  CHECK(argc == 2);
  if (strcmp(argv[1], "together") == 0) {
    if (rank == NULL) bind_to(&allowed, 0);
  } else {
    bind_to(&allowed, atoi(rank) % cpus);
  }
  shmem_init();
  yields = 0;
  for (int i = 0; i < 1000; ++i) CHECK(!shmem_int_test(&never, SHMEM_CMP_NE, 0));
  CHECK((yields > 0) == (shmem_n_pes() > cpus));
  shmem_finalize();
  return 0;
}
