#ifndef AMITY_APPS_SEQUENCE_SEARCH_SEQUENTIAL_H
#define AMITY_APPS_SEQUENCE_SEARCH_SEQUENTIAL_H

/* Searches in one process, with a sorted list in place of the table, to check results. */

#include <stdbool.h>

#include "apps/sequence_search/problem.h"
#include "apps/sequence_search/search.h"

struct search_result search_sequentially(const struct sequences* reference, const struct sequences* reads, int k,
                                         int positions_max);

/* Whether both results are equal. If they differ, `problem` names the first read that does. */
bool compare_results(const struct search_result* result, const struct search_result* expected,
                     const struct sequences* reads, const char* method, struct problem* problem);

#endif
