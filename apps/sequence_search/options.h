#ifndef AMITY_APPS_SEQUENCE_SEARCH_OPTIONS_H
#define AMITY_APPS_SEQUENCE_SEARCH_OPTIONS_H

/* The options of the command line. */

#include <stdbool.h>
#include <stddef.h>

#include "apps/sequence_search/lookup.h"
#include "apps/sequence_search/problem.h"

#define REFERENCES_MAX 64

struct options {
  const char* references[REFERENCES_MAX];
  int references_count;
  const char* reads_file;
  size_t reads_max;
  bool methods[METHODS]; /* that are run */
  int k;
  struct lookup_options lookup;
  size_t buffer_bytes; /* SIZE_MAX: as many as the batches of all ranks need */
  size_t guarantee_bytes;
  int repetitions;
  bool check;
  const char* output; /* NULL: none */
  bool show_progress;
  bool help;
};

extern const char* const method_names[METHODS];

/* Returns false if an option is wrong; then `problem` is set. */
bool parse_options(int argc, char** argv, struct options* options, struct problem* problem);
void print_help(void);

#endif
