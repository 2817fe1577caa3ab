#ifndef AMITY_APPS_SEQUENCE_SEARCH_LOOKUP_H
#define AMITY_APPS_SEQUENCE_SEARCH_LOOKUP_H

/* Looks up batches of k-mers in the distributed table, by one of three methods. */

#include <stddef.h>
#include <stdint.h>

#include "apps/sequence_search/index.h"

enum method {
  METHOD_AM,  /* active messages whose answers have the same size, found or not */
  METHOD_AMV, /* active messages whose answers have what was found */
  METHOD_GET, /* the origin reads the tables of other ranks */
  METHODS
};

struct lookup_options {
  size_t batch_kmers_max;
  int kmers_per_segment;
  int positions_max; /* of a k-mer; it has more of them in the reference than are reported */
};

/* What was found for each k-mer of a batch: `counts[i]` positions, from `positions[i * positions_max]`. */
struct answers {
  uint32_t* counts;
  uint32_t* positions;
};

struct lookup;

/* Both are collective over all processes. */
struct lookup* create_lookup(enum method method, const struct index* index, const struct lookup_options* options);
void free_lookup(struct lookup* lookup);

/* Looks up k-mers. The answers are valid until the next call. */
struct answers look_up(struct lookup* lookup, const uint64_t* kmers, size_t count);

#endif
