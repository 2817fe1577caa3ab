#include "apps/sequence_search/sequential.h"

#include <inttypes.h>
#include <stdlib.h>

#include "apps/sequence_search/kmers.h"

struct occurrence {
  uint64_t kmer;
  uint64_t position;
};

static int order_of(const void* left, const void* right) {
  const struct occurrence *const a = left, *const b = right;
  if (a->kmer != b->kmer) return a->kmer < b->kmer ? -1 : 1;
  return (a->position > b->position) - (a->position < b->position);
}

/* All occurrences of k-mers in the reference, sorted by k-mer and position. */
static struct occurrence* list_occurrences(const struct sequences* reference, int k, size_t* count) {
  struct occurrence* const list = allocate(bases_of(reference), sizeof *list);
  *count = 0;
  for (size_t i = 0; i < reference->count; ++i) {
    struct kmer_scan scan = scan_kmers(reference, i, k);
    size_t begin;
    while (next_kmer(&scan, &list[*count].kmer, &begin)) list[(*count)++].position = reference->begins[i] + begin;
  }
  qsort(list, *count, sizeof *list, order_of);
  return list;
}

static size_t first_of(const struct occurrence* list, size_t count, uint64_t kmer) {
  size_t begin = 0, end = count;
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (list[middle].kmer < kmer) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

struct search_result search_sequentially(const struct sequences* reference, const struct sequences* reads, int k,
                                         int positions_max) {
  struct search_result result = {.reads = allocate(reads->count, sizeof *result.reads)};
  uint32_t* const positions = allocate((size_t)positions_max, sizeof *positions);
  size_t occurrences = 0;
  struct occurrence* const list = list_occurrences(reference, k, &occurrences);
  for (size_t read = 0; read < reads->count; ++read) {
    struct kmer_scan scan = scan_kmers(reads, read, k);
    uint64_t kmer;
    size_t begin;
    while (next_kmer(&scan, &kmer, &begin)) {
      uint32_t count = 0;
      for (size_t i = first_of(list, occurrences, kmer);
           i < occurrences && list[i].kmer == kmer && count < (uint32_t)positions_max; ++i) {
        positions[count++] = (uint32_t)list[i].position;
      }
      count_kmer(&result, read, begin, count, positions);
    }
  }
  free(list);
  free(positions);
  return result;
}

bool compare_results(const struct search_result* result, const struct search_result* expected,
                     const struct sequences* reads, const char* method, struct problem* problem) {
  for (size_t i = 0; i < reads->count; ++i) {
    const struct read_result a = result->reads[i], b = expected->reads[i];
    if (a.kmers != b.kmers || a.found != b.found || a.hits != b.hits) {
      return fail(
          problem,
          "method %s: read %zu (%s): %u k-mers, %u found, %u hits; the sequential index: %u, %u, %u; report this "
          "error with the options",
          method, i, reads->names[i], a.kmers, a.found, a.hits, b.kmers, b.found, b.hits);
    }
  }
  if (result->checksum != expected->checksum) {
    return fail(problem,
                "method %s: the checksum of positions is %016" PRIx64 "; the sequential index: %016" PRIx64
                "; report this error with the options",
                method, result->checksum, expected->checksum);
  }
  return true;
}
