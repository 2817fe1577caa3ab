/* Finds k-mers of reads in reference genomes. docs/sequence-search.md describes the program. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/sequence_search/index.h"
#include "apps/sequence_search/messages.h"
#include "apps/sequence_search/options.h"
#include "apps/sequence_search/report.h"
#include "apps/sequence_search/search.h"
#include "apps/sequence_search/sequential.h"

/* What all parts of the program work on. */
struct job {
  struct options options;
  struct sequences reference;
  struct sequences reads;
  struct index index;
  struct row rows[METHODS];
  int rank, ranks;
};

/* Whether rank 0 has found no problem. Collective. */
static bool is_fine(const struct problem* problem) {
  int is_set = problem->is_set;
  MPI_Bcast(&is_set, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return !is_set;
}

/* Rank 0 reads the files. */
static bool read_files(struct job* job, struct problem* problem) {
  const struct options* const options = &job->options;
  for (int i = 0; job->rank == 0 && i < options->references_count; ++i) {
    read_sequences(&job->reference, options->references[i], SIZE_MAX, problem);
  }
  if (job->rank == 0) read_sequences(&job->reads, options->reads_file, options->reads_max, problem);
  if (job->rank == 0 && bases_of(&job->reference) == 0) fail(problem, "the reference has no bases; pass another file");
  if (!is_fine(problem)) return false;
  broadcast_sequences(&job->reference);
  broadcast_sequences(&job->reads);
  return true;
}

/* The batches of all ranks, if k-mers are spread evenly, and a tenth more. */
static size_t buffer_bytes_of(const struct job* job) {
  const struct lookup_options* const lookup = &job->options.lookup;
  if (job->options.buffer_bytes != SIZE_MAX) return job->options.buffer_bytes;
  if (job->options.guarantee_bytes > 0) return job->options.guarantee_bytes * (size_t)job->ranks;
  const size_t per_origin = lookup->batch_kmers_max / (size_t)job->ranks * 11 / 10 + 1;
  return (size_t)job->ranks * target_bytes_of(per_origin, lookup);
}

static bool make_index(struct job* job, struct problem* problem) {
  const struct index_options options = {
      .k = job->options.k, .buffer_bytes = buffer_bytes_of(job), .guarantee_bytes = job->options.guarantee_bytes};
  if (options.buffer_bytes / (size_t)job->ranks < options.guarantee_bytes) {
    return fail(problem,
                "--guarantee: %zu bytes for each of %d ranks do not fit the buffer of %zu bytes; increase --buffer",
                options.guarantee_bytes, job->ranks, options.buffer_bytes);
  }
  const double begin = MPI_Wtime();
  job->index = create_index(&job->reference, &options, problem);
  if (problem->is_set) return false;
  if (job->rank == 0) {
    printf("reference: %zu sequences, %zu bases; k = %d\n", job->reference.count, bases_of(&job->reference),
           job->options.k);
    printf("table: %zu bytes on each of %d ranks, made in %.2f s; buffer for messages: %zu bytes per rank\n",
           table_bytes(job->index.shape), job->ranks, MPI_Wtime() - begin, options.buffer_bytes);
    fflush(stdout);
  }
  return true;
}

static void run_method(struct job* job, enum method method, int repetition, struct progress_bar* bar) {
  struct row* const row = &job->rows[method];
  struct lookup* const lookup = create_lookup(method, &job->index, &job->options.lookup);
  bar->title = method_names[method];
  free_result(&row->result);
  row->result = search(lookup, &job->index, &job->reads, job->options.k, &job->options.lookup, show_progress, bar);
  row->seconds[repetition] = row->result.seconds;
  clear_progress(bar);
  free_lookup(lookup);
}

/* Methods take turns, so that other load on the machine affects all of them. */
static void run_methods(struct job* job) {
  struct progress_bar bar = create_progress_bar(job->rank == 0 && job->options.show_progress);
  for (int method = 0; method < METHODS; ++method) {
    job->rows[method] = (struct row){.method = method_names[method],
                                     .seconds = allocate((size_t)job->options.repetitions, sizeof(double)),
                                     .repetitions = job->options.repetitions};
  }
  for (int repetition = 0; repetition < job->options.repetitions; ++repetition) {
    for (int method = 0; method < METHODS; ++method) {
      if (job->options.methods[method]) run_method(job, method, repetition, &bar);
    }
  }
}

/* Compares all results with that of a sequential search, or with the first one. */
static void check_results(const struct job* job, struct problem* problem) {
  struct search_result sequential = {0};
  const struct search_result* expected = NULL;
  if (job->options.check) {
    sequential = search_sequentially(&job->reference, &job->reads, job->options.k, job->options.lookup.positions_max);
    expected = &sequential;
  }
  for (int method = 0; method < METHODS; ++method) {
    if (!job->options.methods[method]) continue;
    if (expected == NULL) expected = &job->rows[method].result;
    compare_results(&job->rows[method].result, expected, &job->reads, method_names[method], problem);
  }
  free_result(&sequential);
}

/* Rank 0 prints the results. */
static void report(const struct job* job, struct problem* problem) {
  const struct search_result* last = NULL;
  print_table_header();
  for (int method = 0; method < METHODS; ++method) {
    if (!job->options.methods[method]) continue;
    print_row(&job->rows[method], job->reads.count);
    last = &job->rows[method].result;
  }
  for (int method = 0; job->options.repetitions > 1 && method < METHODS; ++method) {
    if (job->options.methods[method]) print_range(&job->rows[method]);
  }
  check_results(job, problem);
  if (problem->is_set) return;
  if (job->options.check) puts("check: equal to the sequential search");
  if (job->options.output && last) write_reads(job->options.output, last, &job->reads, problem);
}

static void free_job(struct job* job) {
  for (int method = 0; method < METHODS; ++method) {
    free_result(&job->rows[method].result);
    free(job->rows[method].seconds);
  }
  free_index(&job->index);
  free_sequences(&job->reference);
  free_sequences(&job->reads);
}

/* Returns false if there is a problem. */
static bool run(struct job* job, struct problem* problem) {
  bool is_right = read_files(job, problem) && make_index(job, problem);
  if (is_right) {
    run_methods(job);
    if (job->rank == 0) report(job, problem);
    is_right = is_fine(problem);
  }
  free_job(job);
  return is_right;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct job job = {.index = {.win = MPI_WIN_NULL}};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  struct problem problem = {0};
  int status = 0;
  if (!parse_options(argc, argv, &job.options, &problem)) {
    status = 2;
  } else if (job.options.help) {
    if (job.rank == 0) print_help();
  } else {
    status = run(&job, &problem) ? 0 : 1;
  }
  if (problem.is_set && job.rank == 0) fprintf(stderr, "sequence_search: %s\n", problem.text);
  MPI_Finalize();
  return status;
}
