#ifndef AMITY_APPS_SEQUENCE_SEARCH_GETS_H
#define AMITY_APPS_SEQUENCE_SEARCH_GETS_H

/* Lookups by MPI_Get. The origin reads a few slots of each k-mer, and further ones of k-mers that it has not found
 * there, until it has seen an empty slot or the k-mer; then it reads the positions. */

#include "apps/sequence_search/lookup.h"

struct get_lookup;

struct get_lookup* create_get_lookup(const struct index* index, const struct lookup_options* options);
void free_get_lookup(struct get_lookup* lookup);

/* Fills the answers, whose counts are 0. */
void look_up_by_gets(struct get_lookup* lookup, const uint64_t* kmers, size_t count, struct answers answers);

#endif
