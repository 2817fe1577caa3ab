#ifndef AMITY_APPS_SEQUENCE_SEARCH_SEQUENCES_H
#define AMITY_APPS_SEQUENCE_SEARCH_SEQUENCES_H

/* Sequences of bases, read from FASTA and FASTQ files. All bases lie one after the other. */

#include <stddef.h>

#include "apps/sequence_search/problem.h"

struct sequences {
  char* bases;
  size_t bases_capacity;
  size_t* begins; /* of each sequence in `bases`, and the end of the last one */
  char** names;   /* on the rank that has read the files; NULL on others */
  size_t count;
  size_t capacity;
};

/* Appends up to `count_max` sequences of a file. Returns false if that fails; then `problem` is set. */
bool read_sequences(struct sequences* to, const char* path, size_t count_max, struct problem* problem);

/* Collective over all processes: those of rank 0 become those of all. */
void broadcast_sequences(struct sequences* sequences);

size_t bases_of(const struct sequences* sequences);
void free_sequences(struct sequences* sequences);

#endif
