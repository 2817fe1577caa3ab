#include "apps/sequence_search/messages.h"

#include <mpix_am.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sequence_search/kmers.h"

#define NO_KMER UINT64_MAX /* fills the last segment of a message; no k-mer has this number */

struct message_lookup {
  const struct index* index;
  struct lookup_options options;
  bool is_vector;
  MPIX_Am_op op;
  size_t* begins;  /* of each owner's k-mers in `input`, and the end */
  size_t* next;    /* places of each owner in `input`, while it is filled */
  uint64_t* input; /* k-mers by owner */
  size_t* queries; /* of each k-mer of the input: its place in the batch */
  uint64_t* output;
  int* counts; /* of hits of each segment */
};

/* A hit is one number: that of its k-mer in the segment, from 1, and its position. */
static uint64_t hit_of(int kmer, uint32_t position) { return (uint64_t)(kmer + 1) << 32 | position; }

/* Writes the hits of one segment. Returns their number, which is at most `positions_max` for each k-mer. */
static int find_segment(const uint64_t* kmers, int kmers_count, const void* table, int positions_max, uint64_t* hits) {
  int found = 0;
  for (int i = 0; i < kmers_count; ++i) {
    uint32_t count = 0;
    const uint32_t* const positions = kmers[i] != NO_KMER ? find_kmer(table, kmers[i], &count) : NULL;
    for (uint32_t j = 0; j < count && j < (uint32_t)positions_max; ++j) hits[found++] = hit_of(i, positions[j]);
  }
  return found;
}

static void prefetch(const uint64_t* kmers, ptrdiff_t count, const void* table) {
  for (ptrdiff_t i = 0; i < count; ++i) prefetch_kmer(table, kmers[i]);
}

/* The handler of MPIX_Am. Output is zero at first: hits that do not exist stay zero. */
static void find_all(const void* input, int input_count, MPI_Datatype input_type, void* table, int table_count,
                     MPI_Datatype table_type, void* output, int output_count, MPI_Datatype output_type, int segments) {
  (void)input_type, (void)table_count, (void)table_type, (void)output_type;
  const uint64_t* const kmers = input;
  uint64_t* const hits = output;
  prefetch(kmers, (ptrdiff_t)segments * input_count, table);
  for (ptrdiff_t i = 0; i < segments; ++i) {
    find_segment(kmers + i * input_count, input_count, table, output_count / input_count, hits + i * output_count);
  }
}

/* The handler of MPIX_Amv. */
static void find_present(const void* input, int input_count, MPI_Datatype input_type, void* table, int table_count,
                         MPI_Datatype table_type, void* output, int output_count, MPI_Datatype output_type,
                         int segments, int counts[]) {
  (void)input_type, (void)table_count, (void)table_type, (void)output_type;
  const uint64_t* const kmers = input;
  uint64_t* const hits = output;
  prefetch(kmers, (ptrdiff_t)segments * input_count, table);
  for (ptrdiff_t i = 0; i < segments; ++i) {
    counts[i] =
        find_segment(kmers + i * input_count, input_count, table, output_count / input_count, hits + i * output_count);
  }
}

size_t target_bytes_of(size_t kmers, const struct lookup_options* options) {
  const size_t segments = (kmers + (size_t)options->kmers_per_segment - 1) / (size_t)options->kmers_per_segment;
  const size_t hits = (size_t)options->kmers_per_segment * (size_t)options->positions_max;
  return segments * ((size_t)options->kmers_per_segment + hits) * sizeof(uint64_t);
}

struct message_lookup* create_message_lookup(bool is_vector, const struct index* index,
                                             const struct lookup_options* options) {
  struct message_lookup* const lookup = allocate(1, sizeof *lookup);
  lookup->index = index;
  lookup->options = *options;
  lookup->is_vector = is_vector;
  const size_t segment = (size_t)options->kmers_per_segment;
  const size_t kmers_max = options->batch_kmers_max + (size_t)index->ranks * (segment - 1);
  lookup->begins = allocate((size_t)index->ranks + 1, sizeof *lookup->begins);
  lookup->next = allocate((size_t)index->ranks + 1, sizeof *lookup->next);
  lookup->input = allocate(kmers_max, sizeof *lookup->input);
  lookup->queries = allocate(kmers_max, sizeof *lookup->queries);
  lookup->output = allocate(kmers_max * (size_t)options->positions_max, sizeof *lookup->output);
  lookup->counts = allocate(kmers_max / segment + 1, sizeof *lookup->counts);
  if (is_vector) {
    MPIX_Amv_op_create(find_present, MPI_COMM_WORLD, &lookup->op);
  } else {
    MPIX_Am_op_create(find_all, MPI_COMM_WORLD, &lookup->op);
  }
  return lookup;
}

void free_message_lookup(struct message_lookup* lookup) {
  if (lookup == NULL) return;
  MPI_Barrier(MPI_COMM_WORLD); /* messages of other ranks have used the operation */
  MPIX_Am_op_free(&lookup->op);
  free(lookup->begins);
  free(lookup->next);
  free(lookup->input);
  free(lookup->queries);
  free(lookup->output);
  free(lookup->counts);
  free(lookup);
}

/* Sorts the batch by owner. Each owner has whole segments. */
static void sort_by_owner(struct message_lookup* lookup, const uint64_t* kmers, size_t count) {
  const int ranks = lookup->index->ranks;
  const size_t segment = (size_t)lookup->options.kmers_per_segment;
  size_t* const begins = lookup->begins;
  memset(begins, 0, ((size_t)ranks + 1) * sizeof *begins);
  for (size_t i = 0; i < count; ++i) ++begins[owner_of(hash_of(kmers[i]), ranks)];
  size_t end = 0;
  for (int owner = 0; owner <= ranks; ++owner) {
    const size_t kmers_of_owner = begins[owner];
    begins[owner] = lookup->next[owner] = end;
    end += (kmers_of_owner + segment - 1) / segment * segment;
    for (size_t i = begins[owner] + kmers_of_owner; i < end; ++i) lookup->input[i] = NO_KMER;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t place = lookup->next[owner_of(hash_of(kmers[i]), ranks)]++;
    lookup->input[place] = kmers[i];
    lookup->queries[place] = i;
  }
}

static void send_to(struct message_lookup* lookup, int owner) {
  const int segment = lookup->options.kmers_per_segment;
  const int hits_max = segment * lookup->options.positions_max;
  const size_t begin = lookup->begins[owner];
  const int segments = (int)((lookup->begins[owner + 1] - begin) / (size_t)segment);
  const int table_words = (int)(table_bytes(lookup->index->shape) / sizeof(uint64_t));
  const uint64_t* const input = lookup->input + begin;
  uint64_t* const output = lookup->output + begin * (size_t)lookup->options.positions_max;
  if (segments == 0) return;
  if (lookup->is_vector) {
    MPIX_Amv(input, segment, MPI_UINT64_T, output, hits_max, MPI_UINT64_T, lookup->counts + begin / (size_t)segment,
             segments, owner, segment, MPI_UINT64_T, 0, table_words, MPI_UINT64_T, hits_max, MPI_UINT64_T, lookup->op,
             lookup->index->win);
  } else {
    MPIX_Am(input, segment, MPI_UINT64_T, output, hits_max, MPI_UINT64_T, segments, owner, segment, MPI_UINT64_T, 0,
            table_words, MPI_UINT64_T, hits_max, MPI_UINT64_T, lookup->op, lookup->index->win);
  }
}

/* Appends the hits of a segment to the answers of their k-mers. */
static void collect(const struct message_lookup* lookup, size_t segment, struct answers answers) {
  const size_t kmers = (size_t)lookup->options.kmers_per_segment;
  const size_t positions_max = (size_t)lookup->options.positions_max;
  const size_t hits_max = lookup->is_vector ? (size_t)lookup->counts[segment] : kmers * positions_max;
  const uint64_t* const hits = lookup->output + segment * kmers * positions_max;
  for (size_t i = 0; i < hits_max && hits[i] != 0; ++i) {
    const size_t query = lookup->queries[segment * kmers + (size_t)(hits[i] >> 32) - 1];
    answers.positions[query * positions_max + answers.counts[query]++] = (uint32_t)hits[i];
  }
}

void look_up_by_messages(struct message_lookup* lookup, const uint64_t* kmers, size_t count, struct answers answers) {
  const int rank = lookup->index->rank, ranks = lookup->index->ranks;
  sort_by_owner(lookup, kmers, count);
  for (int i = 1; i <= ranks; ++i) send_to(lookup, (rank + i) % ranks);
  MPI_Win_flush_all(lookup->index->win);
  const size_t segments = lookup->begins[ranks] / (size_t)lookup->options.kmers_per_segment;
  for (size_t i = 0; i < segments; ++i) collect(lookup, i, answers);
}
