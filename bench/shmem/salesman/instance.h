#ifndef AMITY_BENCH_SALESMAN_INSTANCE_H
#define AMITY_BENCH_SALESMAN_INSTANCE_H

/* Cities and the roads between them, made from a seed, so that each process makes the same ones without being told.

   A road leads one way. A distance of 0 means that there is none. */

#include <stdint.h>

enum { cities_max = 15, distance_max = 99, no_tour = 1 << 28 };

struct instance {
  int cities;
  int distance[cities_max][cities_max];
  int least_from[cities_max]; /* the shortest road out of a city; no_tour: there is none */
};

/* Successive seeds give all roads, half of them, a third, and two fifths, in turn. Each fourth instance has no tour:
   from the second half of its cities no road leads back to the first. */
void make_instance(struct instance* made, int cities, uint64_t seed);

/* The length of the shortest tour from city 0 through all cities and back, by dynamic programming over the sets of
   cities (Held and Karp); `no_tour`: there is none. */
int shortest_tour_length(const struct instance* roads);

#endif
