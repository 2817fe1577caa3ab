/* What a barrier takes on a machine that others use: "N M", N barriers beside M processes that compute, each pinned to
   a core. Prints one sample. */

#define _GNU_SOURCE
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

static pid_t start_to_compute(int core) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(core, &own);
  if (sched_setaffinity(0, sizeof own, &own) != 0) _exit(1);
  for (volatile unsigned long count = 0;;) count = count + 1;
}

int main(int argc, char** argv) {
  enum { busy_max = 64 };
  pid_t busy[busy_max];
  if (argc != 3) return 2;
  const int barriers = atoi(argv[1]), computing = atoi(argv[2]);
  if (barriers < 1 || computing < 0 || computing > busy_max) return 2;
  shmem_init();
  const int measures = shmem_my_pe() == 0;
  for (int i = 0; measures && i < computing; ++i) busy[i] = start_to_compute(i);
  shmem_barrier_all();
  const double start = now_ns();
  for (int i = 0; i < barriers; ++i) shmem_barrier_all();
  const double each = (now_ns() - start) / barriers;
  for (int i = 0; measures && i < computing; ++i) {
    int status = 0;
    kill(busy[i], SIGKILL);
    waitpid(busy[i], &status, 0);
    expect("a neighbour that computed to the end", WIFSIGNALED(status), 1);
  }
  if (measures) printf("{\"us\": %.6g}\n", each * 1e-3);
  shmem_finalize();
  return 0;
}
