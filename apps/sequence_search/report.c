#include "apps/sequence_search/report.h"

#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR_WIDTH 30
#define REDRAW_SECONDS 0.1

struct progress_bar create_progress_bar(bool is_wanted) {
  return (struct progress_bar){.is_shown = is_wanted && isatty(STDERR_FILENO),
                               .shown_at = MPI_Wtime() - REDRAW_SECONDS};
}

void show_progress(void* context, double share) {
  struct progress_bar* const bar = context;
  if (!bar->is_shown || MPI_Wtime() - bar->shown_at < REDRAW_SECONDS) return;
  bar->shown_at = MPI_Wtime();
  char drawn[BAR_WIDTH + 1];
  const int full = (int)(share * BAR_WIDTH);
  for (int i = 0; i < BAR_WIDTH; ++i) drawn[i] = i < full ? '#' : '.';
  drawn[BAR_WIDTH] = '\0';
  fprintf(stderr, "\r%s [%s] %3.0f %% of the reads", bar->title, drawn, 100 * share);
  fflush(stderr);
}

void clear_progress(struct progress_bar* bar) {
  if (bar->is_shown) fprintf(stderr, "\r\033[K");
}

void print_table_header(void) {
  printf("%-6s %7s %10s %9s %9s %8s %11s %9s %10s %9s %10s  %s\n", "method", "reads", "k-mers", "found", "hits",
         "seconds", "M k-mers/s", "messages", "handshakes", "refusals", "output MB", "checksum");
}

static int order_of(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

void print_row(const struct row* row, size_t reads) {
  const struct search_result* const result = &row->result;
  qsort(row->seconds, (size_t)row->repetitions, sizeof *row->seconds, order_of);
  const double seconds = row->seconds[row->repetitions / 2];
  printf("%-6s %7zu %10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %8.3f %11.2f %9llu %10llu %9llu %10.2f  %016" PRIx64 "\n",
         row->method, reads, result->kmers, result->found, result->hits, seconds, (double)result->kmers / seconds / 1e6,
         result->counters.messages, result->counters.handshakes, result->counters.refusals,
         (double)result->counters.output_bytes / 1e6, result->checksum);
}

void print_range(const struct row* row) {
  printf("%-6s %d times, %.3f to %.3f s; the table has the median\n", row->method, row->repetitions, row->seconds[0],
         row->seconds[row->repetitions - 1]);
}

bool write_reads(const char* path, const struct search_result* result, const struct sequences* reads,
                 struct problem* problem) {
  FILE* const file = fopen(path, "w");
  if (file == NULL) {
    return fail(problem, "--output: cannot create '%s': %s; pass a file in a directory that exists", path,
                strerror(errno));
  }
  fputs("read\tk-mers\tfound\thits\n", file);
  for (size_t i = 0; i < reads->count; ++i) {
    const struct read_result* const read = &result->reads[i];
    fprintf(file, "%s\t%u\t%u\t%u\n", reads->names[i], read->kmers, read->found, read->hits);
  }
  const bool is_written = !ferror(file);
  if (fclose(file) != 0 || !is_written) {
    return fail(problem, "--output: writing to '%s' failed: %s; check that the disk is not full", path,
                strerror(errno));
  }
  return true;
}
