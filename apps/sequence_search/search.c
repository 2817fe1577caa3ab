#include "apps/sequence_search/search.h"

#include <stdlib.h>

#include "apps/sequence_search/kmers.h"

/* K-mers that are looked up together. */
struct batch {
  struct lookup* lookup;
  size_t count, count_max;
  uint64_t* kmers;
  size_t* reads;  /* of each k-mer */
  size_t* begins; /* in its read */
  size_t positions_max;
};

void count_kmer(struct search_result* result, size_t read, size_t begin, uint32_t count, const uint32_t* positions) {
  struct read_result* const of_read = &result->reads[read];
  ++of_read->kmers;
  of_read->found += count > 0;
  of_read->hits += count;
  const uint64_t place = hash_of(hash_of(read) + begin);
  for (uint32_t i = 0; i < count; ++i) result->checksum += hash_of(place + positions[i]);
}

static struct batch create_batch(struct lookup* lookup, size_t count_max, size_t positions_max) {
  return (struct batch){.lookup = lookup,
                        .count_max = count_max,
                        .kmers = allocate(count_max, sizeof(uint64_t)),
                        .reads = allocate(count_max, sizeof(size_t)),
                        .begins = allocate(count_max, sizeof(size_t)),
                        .positions_max = positions_max};
}

static void free_batch(struct batch* batch) {
  free(batch->kmers);
  free(batch->reads);
  free(batch->begins);
}

static void finish_batch(struct batch* batch, struct search_result* result) {
  const struct answers answers = look_up(batch->lookup, batch->kmers, batch->count);
  for (size_t i = 0; i < batch->count; ++i) {
    count_kmer(result, batch->reads[i], batch->begins[i], answers.counts[i],
               answers.positions + i * batch->positions_max);
  }
  batch->count = 0;
}

/* Sums what all ranks have counted, at rank 0. */
static void reduce(struct search_result* result, size_t reads, int rank) {
  const bool is_root = rank == 0;
  void* const from = is_root ? MPI_IN_PLACE : (void*)result->reads;
  MPI_Reduce(from, is_root ? result->reads : NULL, (int)(3 * reads), MPI_UINT32_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &result->checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &result->seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (size_t i = 0; is_root && i < reads; ++i) {
    result->kmers += result->reads[i].kmers;
    result->found += result->reads[i].found;
    result->hits += result->reads[i].hits;
  }
}

/* What messages of all ranks have needed so far, at all ranks. */
static MPIX_Am_counters counters_of(const struct index* index) {
  enum { numbers = 6 };
  uint64_t sums[numbers] = {0};
  for (int target = 0; target < index->ranks; ++target) {
    MPIX_Am_counters of_target;
    MPIX_Am_win_get_counters(index->win, target, &of_target);
    const uint64_t values[numbers] = {of_target.messages, of_target.units,       of_target.handshakes,
                                      of_target.refusals, of_target.input_bytes, of_target.output_bytes};
    for (int i = 0; i < numbers; ++i) sums[i] += values[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, numbers, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return (MPIX_Am_counters){.messages = sums[0],
                            .units = sums[1],
                            .handshakes = sums[2],
                            .refusals = sums[3],
                            .input_bytes = sums[4],
                            .output_bytes = sums[5]};
}

static MPIX_Am_counters difference(MPIX_Am_counters after, MPIX_Am_counters before) {
  return (MPIX_Am_counters){.messages = after.messages - before.messages,
                            .units = after.units - before.units,
                            .handshakes = after.handshakes - before.handshakes,
                            .refusals = after.refusals - before.refusals,
                            .input_bytes = after.input_bytes - before.input_bytes,
                            .output_bytes = after.output_bytes - before.output_bytes};
}

static void search_read(struct batch* batch, const struct sequences* reads, size_t read, int k,
                        struct search_result* result) {
  struct kmer_scan scan = scan_kmers(reads, read, k);
  uint64_t kmer;
  size_t begin;
  while (next_kmer(&scan, &kmer, &begin)) {
    batch->kmers[batch->count] = kmer;
    batch->reads[batch->count] = read;
    batch->begins[batch->count] = begin;
    if (++batch->count == batch->count_max) finish_batch(batch, result);
  }
}

struct search_result search(struct lookup* lookup, const struct index* index, const struct sequences* reads, int k,
                            const struct lookup_options* options, progress_function* progress, void* context) {
  struct search_result result = {.reads = allocate(reads->count, sizeof *result.reads)};
  struct batch batch = create_batch(lookup, options->batch_kmers_max, (size_t)options->positions_max);
  const MPIX_Am_counters before = counters_of(index);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (size_t i = (size_t)index->rank; i < reads->count; i += (size_t)index->ranks) {
    search_read(&batch, reads, i, k, &result);
    progress(context, (double)i / (double)reads->count);
  }
  finish_batch(&batch, &result);
  result.seconds = MPI_Wtime() - begin;
  reduce(&result, reads->count, index->rank);
  result.counters = difference(counters_of(index), before);
  free_batch(&batch);
  return result;
}

void free_result(struct search_result* result) {
  free(result->reads);
  result->reads = NULL;
}
