#ifndef AMITY_APPS_SEQUENCE_SEARCH_INDEX_H
#define AMITY_APPS_SEQUENCE_SEARCH_INDEX_H

/* The k-mers of the reference, distributed over all ranks: each has a table in its memory of a window. */

#include <mpi.h>
#include <stddef.h>

#include "apps/sequence_search/problem.h"
#include "apps/sequence_search/sequences.h"
#include "apps/sequence_search/table.h"

struct index {
  MPI_Win win; /* displacements are bytes */
  void* memory;
  struct table_shape shape; /* equal on all ranks */
  int rank, ranks;
  void* buffer; /* that active messages use at this rank */
  size_t buffer_bytes;
};

struct index_options {
  int k;
  size_t buffer_bytes;    /* for messages of all origins to one rank */
  size_t guarantee_bytes; /* of these, for each origin; 0: messages ask for space */
};

/* Both are collective over all processes. If the reference is too large, `problem` is set on all ranks. */
struct index create_index(const struct sequences* reference, const struct index_options* options,
                          struct problem* problem);
void free_index(struct index* index);

#endif
