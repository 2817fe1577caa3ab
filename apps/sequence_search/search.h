#ifndef AMITY_APPS_SEQUENCE_SEARCH_SEARCH_H
#define AMITY_APPS_SEQUENCE_SEARCH_SEARCH_H

/* The search for the k-mers of all reads, by all ranks, and its result. */

#include <mpix_am.h>
#include <stdint.h>

#include "apps/sequence_search/lookup.h"
#include "apps/sequence_search/sequences.h"

struct read_result {
  uint32_t kmers;
  uint32_t found; /* of these, in the reference */
  uint32_t hits;  /* positions of those */
};

struct search_result {
  struct read_result* reads; /* on rank 0: of all reads */
  uint64_t kmers, found, hits;
  uint64_t checksum; /* of all hits; independent of their order and of the number of ranks */
  double seconds;    /* of the slowest rank */
  MPIX_Am_counters counters;
};

/* Called from time to time with the share of this rank's reads that is done. */
typedef void progress_function(void* context, double share);

/* Adds one k-mer of a read, and what was found for it, to a result. */
void count_kmer(struct search_result* result, size_t read, size_t begin, uint32_t count, const uint32_t* positions);

/* Collective over all processes: rank r searches the reads r, r + ranks, and so on. */
struct search_result search(struct lookup* lookup, const struct index* index, const struct sequences* reads, int k,
                            const struct lookup_options* options, progress_function* progress, void* context);
void free_result(struct search_result* result);

#endif
