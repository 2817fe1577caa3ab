#ifndef AMITY_APPS_SEQUENCE_SEARCH_TABLE_H
#define AMITY_APPS_SEQUENCE_SEARCH_TABLE_H

/* A rank's part of the k-mer table, in contiguous memory without pointers, so that it can be memory of a window:
 * a header, slots with linear probing, and the positions of all k-mers. Equal k-mers have one slot, and their positions
 * in the reference are contiguous and ascend. */

#include <stddef.h>
#include <stdint.h>

#include "apps/sequence_search/sequences.h"

struct table_shape {
  uint64_t slots;
  uint64_t positions;
};

struct table_slot {
  uint64_t key; /* k-mer + 1; 0: the slot is empty */
  uint32_t first;
  uint32_t count; /* of positions */
};

/* A shape for so many occurrences of k-mers. At most two thirds of the slots are used. */
struct table_shape shape_for(uint64_t occurrences);

/* Offsets in bytes from the beginning of the memory. The size is a multiple of 8. */
size_t table_bytes(struct table_shape shape);
size_t slot_offset(uint64_t slot);
size_t position_offset(struct table_shape shape, uint64_t position);

/* The slot in which the search for a k-mer with this hash begins. It continues in the next slots, and after the last
 * one in slot 0, up to an empty slot. */
uint64_t first_slot_of(uint64_t hash, struct table_shape shape);

/* The number of occurrences of k-mers in the reference that this rank has. */
uint64_t count_occurrences(const struct sequences* reference, int k, int rank, int ranks);

/* Fills memory of this shape, which has zeros, with the k-mers that this rank has. */
void fill_table(void* memory, struct table_shape shape, const struct sequences* reference, int k, int rank, int ranks);

/* Brings the first slot of a k-mer into the cache, so that several searches wait for memory together. */
void prefetch_kmer(const void* memory, uint64_t kmer);

/* The positions of a k-mer, or NULL and 0. */
const uint32_t* find_kmer(const void* memory, uint64_t kmer, uint32_t* count);

#endif
