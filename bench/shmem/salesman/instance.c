#include "bench/shmem/salesman/instance.h"

#include <stdlib.h>

static uint64_t next_random(uint64_t* state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void make_instance(struct instance* made, int cities, uint64_t seed) {
  static const unsigned percent_of_roads[4] = {100, 50, 33, 40};
  const int kind = (int)(seed % 4);
  uint64_t state = seed;
  made->cities = cities;
  for (int from = 0; from < cities; ++from) {
    made->least_from[from] = no_tour;
    for (int to = 0; to < cities; ++to) {
      const int length = 1 + (int)(next_random(&state) % distance_max);
      const int kept = next_random(&state) % 100 < percent_of_roads[kind];
      const int leads_back = kind == 3 && from >= cities / 2 && to < cities / 2;
      const int is_road = from != to && kept && !leads_back;
      made->distance[from][to] = is_road ? length : 0;
      if (is_road && length < made->least_from[from]) made->least_from[from] = length;
    }
  }
}

int shortest_tour_length(const struct instance* roads) {
  const int others = roads->cities - 1; /* all but city 0: city c is bit c - 1 */
  const unsigned sets = 1u << others;
  if (others == 0) return 0;
  /* shortest[set * others + last]: from city 0 through the set, with its member `last` at the end. */
  int* const shortest = malloc(sizeof(int) * sets * (unsigned)others);
  for (unsigned set = 1; set < sets; ++set) {
    for (int last = 0; last < others; ++last) {
      const unsigned before = set & ~(1u << last);
      int least = no_tour;
      if (before == 0 && roads->distance[0][last + 1] > 0) least = roads->distance[0][last + 1];
      for (int previous = 0; set != before && previous < others; ++previous) {
        const int step = roads->distance[previous + 1][last + 1];
        if ((before & 1u << previous) == 0 || step == 0) continue;
        const int length = shortest[before * (unsigned)others + (unsigned)previous] + step;
        if (length < least) least = length;
      }
      shortest[set * (unsigned)others + (unsigned)last] = set == before ? no_tour : least;
    }
  }
  int least = no_tour;
  for (int last = 0; last < others; ++last) {
    const int back = roads->distance[last + 1][0];
    const int length = shortest[(sets - 1) * (unsigned)others + (unsigned)last] + back;
    if (back > 0 && length < least) least = length;
  }
  free(shortest);
  return least;
}
