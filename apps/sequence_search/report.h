#ifndef AMITY_APPS_SEQUENCE_SEARCH_REPORT_H
#define AMITY_APPS_SEQUENCE_SEARCH_REPORT_H

/* What the program shows: a progress bar, a table of results, and a file with a line for each read. */

#include <stdbool.h>

#include "apps/sequence_search/problem.h"
#include "apps/sequence_search/search.h"

struct progress_bar {
  bool is_shown;
  const char* title;
  double shown_at; /* seconds */
};

/* A bar on standard error, if that is a terminal. */
struct progress_bar create_progress_bar(bool is_wanted);

/* A progress_function. */
void show_progress(void* bar, double share);
void clear_progress(struct progress_bar* bar);

struct row {
  const char* method;
  struct search_result result;
  double* seconds; /* of each repetition; sorted by print_row */
  int repetitions;
};

void print_table_header(void);
void print_row(const struct row* row, size_t reads);

/* The times of a row that was printed. */
void print_range(const struct row* row);

/* Writes the name, k-mers, found k-mers and hits of each read, with tabs between them. */
bool write_reads(const char* path, const struct search_result* result, const struct sequences* reads,
                 struct problem* problem);

#endif
