#include "bench/shmem/salesman/bucket_queue.h"

#include <stdlib.h>

struct bucket_entry {
  struct path path;
  int next;
};

static void clear(struct bucket_queue* queue) {
  queue->entries_used = 0;
  queue->free = -1;
  queue->lowest = buckets;
  for (int bound = 0; bound < buckets; ++bound) queue->first[bound] = -1;
}

void queue_begin(struct bucket_queue* queue) {
  queue->entries = NULL;
  queue->entries_max = 0;
  clear(queue);
}

void queue_put(struct bucket_queue* queue, const struct path* put) {
  int at = queue->free;
  if (at >= 0) {
    queue->free = queue->entries[at].next;
  } else {
    if (queue->entries_used == queue->entries_max) {
      queue->entries_max = queue->entries_max * 2 + 1024;
      queue->entries = realloc(queue->entries, sizeof *queue->entries * (size_t)queue->entries_max);
      if (queue->entries == NULL) abort();
    }
    at = queue->entries_used++;
  }
  queue->entries[at].path = *put;
  queue->entries[at].next = queue->first[put->bound];
  queue->first[put->bound] = at;
  if (put->bound < queue->lowest) queue->lowest = put->bound;
}

int queue_take(struct bucket_queue* queue, int limit, struct path* taken) {
  while (queue->lowest < buckets && queue->first[queue->lowest] < 0) ++queue->lowest;
  if (queue->lowest == buckets) return 0;
  if (queue->lowest >= limit) {
    clear(queue);
    return 0;
  }
  const int at = queue->first[queue->lowest];
  *taken = queue->entries[at].path;
  queue->first[queue->lowest] = queue->entries[at].next;
  queue->entries[at].next = queue->free;
  queue->free = at;
  return 1;
}

void queue_end(struct bucket_queue* queue) { free(queue->entries); }
