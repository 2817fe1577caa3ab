#include "bench/shmem/salesman/search.h"

/* So many cities are left to one worker, which needs less time for them than all their paths would for their ways. */
enum { left_to_one_worker = 8 };

static struct path beginning(const struct instance* roads) {
  struct path path = {.visited = 1, .count = 1};
  for (int city = 0; city < roads->cities && roads->cities > 1; ++city) {
    if (path.bound < no_tour) path.bound += roads->least_from[city];
  }
  return path;
}

/* The bound is the length so far and, for each city that must be left still, the shortest road out of it. */
static int lengthen(const struct instance* roads, const struct path* path, int city, int limit, struct path* longer) {
  const int last = path->cities[path->count - 1];
  const int step = roads->distance[last][city];
  if (step == 0 || (path->visited & 1u << city) != 0) return 0;
  const int bound = path->bound - roads->least_from[last] + step;
  if (bound >= limit) return 0;
  *longer = *path;
  longer->length += step;
  longer->bound = bound;
  longer->visited = (uint16_t)(path->visited | 1u << city);
  longer->cities[longer->count++] = (uint8_t)city;
  return 1;
}

static void close_tour(const struct instance* roads, const struct path* path, struct path* best) {
  const int back = roads->cities == 1 ? 0 : roads->distance[path->cities[path->count - 1]][0];
  if ((back == 0 && roads->cities > 1) || path->length + back >= best->length) return;
  *best = *path;
  best->length += back;
}

/* Depth first, to the ends. */
static void finish(const struct instance* roads, const struct path* path, struct path* best) {
  if (path->count == roads->cities) return close_tour(roads, path, best);
  struct path longer;
  for (int city = 1; city < roads->cities; ++city) {
    if (lengthen(roads, path, city, best->length, &longer)) finish(roads, &longer, best);
  }
}

void work(const struct instance* roads, const struct assignment* given, struct findings* found) {
  found->count = 0;
  found->tour.length = given->best_length;
  if (roads->cities - given->path.count <= left_to_one_worker) {
    finish(roads, &given->path, &found->tour);
  } else {
    for (int city = 1; city < roads->cities; ++city) {
      found->count += lengthen(roads, &given->path, city, given->best_length, &found->paths[found->count]);
    }
  }
  if (found->tour.length == given->best_length) found->tour.length = no_tour;
}

void master_begin(struct master* master, const struct instance* roads) {
  const struct path first = beginning(roads);
  queue_begin(&master->queue);
  master->best.length = no_tour;
  if (first.bound < buckets) queue_put(&master->queue, &first); /* otherwise a city has no road out of it */
}

void master_take_in(struct master* master, const struct findings* found) {
  if (found->tour.length < master->best.length) master->best = found->tour;
  for (int i = 0; i < found->count; ++i) {
    if (found->paths[i].bound < master->best.length) queue_put(&master->queue, &found->paths[i]);
  }
}

int master_assign(struct master* master, struct assignment* given) {
  given->best_length = master->best.length;
  return queue_take(&master->queue, master->best.length, &given->path);
}

void master_end(struct master* master) { queue_end(&master->queue); }
