#ifndef AMITY_BENCH_SHMEM_MEASURE_H
#define AMITY_BENCH_SHMEM_MEASURE_H

/* For programs that measure an OpenSHMEM, any one. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void expect(const char* what, long found, long wanted) {
  if (found == wanted) return;
  fprintf(stderr, "%s: %ld, not %ld\n", what, found, wanted);
  _Exit(1); /* other libraries may wait for their peers at exit */
}

#endif
