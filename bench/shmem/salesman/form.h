#ifndef AMITY_BENCH_SALESMAN_FORM_H
#define AMITY_BENCH_SALESMAN_FORM_H

/* What a form of the program offers to what is around it (run.c): how master and workers talk. */

#include "bench/shmem/salesman/search.h"

struct job {
  int me, size; /* 0 is the master, all others are workers */
};

struct job form_begin(void);
void form_meet(void); /* all wait for all */
/* All of them, two or more. */
void form_master(const struct instance* roads, struct path* best);
void form_worker(const struct instance* roads);
void form_end(void);
void form_fail(void) __attribute__((noreturn)); /* ends the job */

#endif
