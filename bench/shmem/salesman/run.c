/* The travelling salesman: the shortest way from city 0 through all others and back. run.c is the program, with_*.c are
   the forms in which master and workers may talk.

   usage: PROGRAM FIRST_SEED INSTANCES CITIES_MIN CITIES_MAX
   Compares each answer with that of dynamic programming. Prints one sample: what the searches took. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/shmem/salesman/form.h"

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void solve_alone(const struct instance* roads, struct path* best) {
  struct master master;
  struct assignment given;
  struct findings found;
  master_begin(&master, roads);
  while (master_assign(&master, &given)) {
    work(roads, &given, &found);
    master_take_in(&master, &found);
  }
  *best = master.best;
  master_end(&master);
}

static int is_tour(const struct instance* roads, const struct path* tour) {
  int length = 0;
  unsigned seen = 0;
  for (int i = 0; i < roads->cities; ++i) {
    const int step = roads->distance[tour->cities[i]][tour->cities[(i + 1) % roads->cities]];
    if (step == 0 && roads->cities > 1) return 0;
    length += step;
    seen |= 1u << tour->cities[i];
  }
  return tour->count == roads->cities && tour->cities[0] == 0 && seen == (1u << roads->cities) - 1 &&
         length == tour->length;
}

static void check(const struct instance* roads, uint64_t seed, const struct path* best) {
  const int wanted = shortest_tour_length(roads);
  if (best->length == wanted && (wanted == no_tour || is_tour(roads, best))) return;
  fprintf(stderr, "seed %llu, %d cities: the shortest tour has length %d, found was one of %d (%d means none)\n",
          (unsigned long long)seed, roads->cities, wanted, best->length, no_tour);
  form_fail();
}

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s FIRST_SEED INSTANCES CITIES_MIN CITIES_MAX\n", argv[0]);
    return 2;
  }
  const uint64_t first_seed = strtoull(argv[1], NULL, 10);
  const int instances = atoi(argv[2]), cities_least = atoi(argv[3]), cities_most = atoi(argv[4]);
  if (cities_least < 1 || cities_most > cities_max || cities_least > cities_most) {
    fprintf(stderr, "there are 1 to %d cities\n", cities_max);
    return 2;
  }
  const struct job job = form_begin();
  double searches_ms = 0;
  int without_tour = 0;
  for (int i = 0; i < instances; ++i) {
    struct instance roads;
    struct path best;
    const uint64_t seed = first_seed + (uint64_t)i;
    make_instance(&roads, cities_least + i % (cities_most - cities_least + 1), seed);
    form_meet();
    const double start = now_ms();
    if (job.me > 0) {
      form_worker(&roads);
      continue;
    }
    if (job.size > 1) {
      form_master(&roads, &best);
    } else {
      solve_alone(&roads, &best);
    }
    searches_ms += now_ms() - start;
    check(&roads, seed, &best);
    without_tour += best.length == no_tour;
  }
  if (job.me == 0) printf("{\"ms\": %.6g, \"without_tour\": %d}\n", searches_ms, without_tour);
  form_end();
  return 0;
}
