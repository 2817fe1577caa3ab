#ifndef AMITY_BENCH_SALESMAN_BUCKET_QUEUE_H
#define AMITY_BENCH_SALESMAN_BUCKET_QUEUE_H

/* A bucket queue: partial paths by the least length that a tour which begins like them can have.

   Lengths are small integers, so each has a list of its own, and both to put and to take one takes constant time. A
   sorted list would be traversed at each put, which is what such a search then spends its time on. */

#include "bench/shmem/salesman/instance.h"

struct path {
  int32_t length;
  int32_t bound; /* no tour that begins so is shorter */
  uint16_t visited;
  uint8_t count;
  uint8_t cities[cities_max];
};

enum { buckets = cities_max * distance_max + 1 };

struct bucket_queue {
  struct bucket_entry* entries;
  int entries_used, entries_max;
  int free;           /* a list of entries, as in each bucket; -1 ends it */
  int first[buckets]; /* the entry that was put last, of each bound */
  int lowest;         /* no bucket below has entries */
};

void queue_begin(struct bucket_queue* queue);
void queue_put(struct bucket_queue* queue, const struct path* put);
/* Takes one of those with the least bound, if that is below `limit`, and returns 1. Otherwise all that is left is of no
   use, and is dropped. */
int queue_take(struct bucket_queue* queue, int limit, struct path* taken);
void queue_end(struct bucket_queue* queue);

#endif
