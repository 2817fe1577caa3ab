#ifndef AMITY_APPS_SEQUENCE_SEARCH_KMERS_H
#define AMITY_APPS_SEQUENCE_SEARCH_KMERS_H

/* K-mers: subsequences of k bases, as numbers with 2 bits for each base. A k-mer and its reverse complement are equal
 * here: the smaller number of both stands for them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/sequence_search/sequences.h"

#define KMER_BASES_MAX 31

/* All k-mers of a sequence, in their order. Those with a letter other than A, C, G and T are left out. */
struct kmer_scan {
  const char* bases;
  size_t length;
  size_t next; /* base */
  int k;
  int known; /* bases before `next` that are part of the k-mer, up to k */
  uint64_t forward;
  uint64_t reverse;
};

struct kmer_scan scan_kmers(const struct sequences* sequences, size_t sequence, int k);

/* Returns false at the end. `begin` is the k-mer's first base in the sequence. */
bool next_kmer(struct kmer_scan* scan, uint64_t* kmer, size_t* begin);

/* Spreads numbers over 64 bits, so that different numbers stay different (finalizer of SplitMix64, S. Vigna). */
uint64_t hash_of(uint64_t number);

/* The rank that has a k-mer with this hash. */
int owner_of(uint64_t hash, int ranks);

#endif
