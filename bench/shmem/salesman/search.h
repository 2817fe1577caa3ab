#ifndef AMITY_BENCH_SALESMAN_SEARCH_H
#define AMITY_BENCH_SALESMAN_SEARCH_H

/* The search that all forms share: branch and bound, the best bound first.

   The master keeps the queue of partial paths and the best tour. A worker is assigned a path, and either lengthens it
   by each city that may come next, or, where few are left, finds the shortest tour that begins so. */

#include <stddef.h>

#include "bench/shmem/salesman/bucket_queue.h"

/* What a worker is told. */
struct assignment {
  struct path path;
  int32_t best_length;
};

/* What it puts back: longer paths, and a tour if one is shorter than the best. A tour is a path with all cities whose
   length includes the way back. */
struct findings {
  struct path tour; /* of length no_tour: none */
  int32_t count;
  struct path paths[cities_max];
};
static inline size_t findings_bytes(const struct findings* found) {
  return offsetof(struct findings, paths) + (size_t)found->count * sizeof(struct path);
}

void work(const struct instance* roads, const struct assignment* given, struct findings* found);

struct master {
  struct bucket_queue queue;
  struct path best; /* of length no_tour: none yet */
};

void master_begin(struct master* master, const struct instance* roads);
void master_take_in(struct master* master, const struct findings* found);
/* Whether there is a path that is worth following. */
int master_assign(struct master* master, struct assignment* given);
/* Gives back what it needed; the best tour stays. */
void master_end(struct master* master);

#endif
