#ifndef AMITY_BENCH_SHMEM_MEASURE_H
#define AMITY_BENCH_SHMEM_MEASURE_H

/* For programs that measure an OpenSHMEM, any one. Include <shmem.h> first. */

#include <stdio.h>
#include <time.h>

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void expect(const char* what, long found, long wanted) {
  if (found == wanted) return;
  fprintf(stderr, "PE %d: %s: %ld, not %ld\n", shmem_my_pe(), what, found, wanted);
  shmem_global_exit(1);
}

#endif
