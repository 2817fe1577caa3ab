#include "apps/sequence_search/gets.h"

#include <stdbool.h>
#include <stdlib.h>

#include "apps/sequence_search/kmers.h"

#define GROUP_SLOTS 4 /* that are read at once: a cache line */

/* A k-mer that has neither been found nor is known to be missing. */
struct probe {
  size_t query; /* its place in the batch */
  uint64_t slot;
  int owner;
  int slots_read;
};

struct get_lookup {
  const struct index* index;
  size_t positions_max;
  struct probe* probes;
  struct table_slot* slots; /* GROUP_SLOTS for each probe */
};

struct get_lookup* create_get_lookup(const struct index* index, const struct lookup_options* options) {
  struct get_lookup* const lookup = allocate(1, sizeof *lookup);
  lookup->index = index;
  lookup->positions_max = (size_t)options->positions_max;
  lookup->probes = allocate(options->batch_kmers_max, sizeof *lookup->probes);
  lookup->slots = allocate(options->batch_kmers_max * GROUP_SLOTS, sizeof *lookup->slots);
  return lookup;
}

void free_get_lookup(struct get_lookup* lookup) {
  if (lookup == NULL) return;
  free(lookup->probes);
  free(lookup->slots);
  free(lookup);
}

static void get_bytes(const struct index* index, void* to, size_t bytes, int owner, size_t offset) {
  MPI_Get(to, (int)bytes, MPI_BYTE, owner, (MPI_Aint)offset, (int)bytes, MPI_BYTE, index->win);
}

/* Begins to read the next slots of each probe. */
static void get_slots(struct get_lookup* lookup, size_t probes) {
  const uint64_t slots = lookup->index->shape.slots;
  for (size_t i = 0; i < probes; ++i) {
    struct probe* const probe = &lookup->probes[i];
    const uint64_t rest = slots - probe->slot;
    probe->slots_read = rest < GROUP_SLOTS ? (int)rest : GROUP_SLOTS;
    get_bytes(lookup->index, &lookup->slots[i * GROUP_SLOTS], (size_t)probe->slots_read * sizeof *lookup->slots,
              probe->owner, slot_offset(probe->slot));
  }
}

/* Whether the search has ended: the slot of the k-mer was found, or an empty one. */
static const struct table_slot* last_slot_of(const struct get_lookup* lookup, size_t probe, uint64_t kmer) {
  const struct table_slot* const slots = &lookup->slots[probe * GROUP_SLOTS];
  for (int i = 0; i < lookup->probes[probe].slots_read; ++i) {
    if (slots[i].key == 0 || slots[i].key == kmer + 1) return &slots[i];
  }
  return NULL;
}

/* Begins to read the positions of k-mers that were found. Returns the number of probes that continue. */
static size_t follow(struct get_lookup* lookup, size_t probes, const uint64_t* kmers, struct answers answers) {
  const struct table_shape shape = lookup->index->shape;
  size_t left = 0;
  for (size_t i = 0; i < probes; ++i) {
    struct probe probe = lookup->probes[i];
    const struct table_slot* const slot = last_slot_of(lookup, i, kmers[probe.query]);
    if (slot == NULL) {
      probe.slot = (probe.slot + (uint64_t)probe.slots_read) % shape.slots;
      lookup->probes[left++] = probe;
    } else if (slot->key != 0) {
      const size_t count = slot->count < lookup->positions_max ? slot->count : lookup->positions_max;
      answers.counts[probe.query] = (uint32_t)count;
      get_bytes(lookup->index, &answers.positions[probe.query * lookup->positions_max], count * sizeof(uint32_t),
                probe.owner, position_offset(shape, slot->first));
    }
  }
  return left;
}

void look_up_by_gets(struct get_lookup* lookup, const uint64_t* kmers, size_t count, struct answers answers) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t hash = hash_of(kmers[i]);
    lookup->probes[i] = (struct probe){
        .query = i, .slot = first_slot_of(hash, lookup->index->shape), .owner = owner_of(hash, lookup->index->ranks)};
  }
  size_t probes = count;
  while (probes > 0) {
    get_slots(lookup, probes);
    MPI_Win_flush_all(lookup->index->win);
    probes = follow(lookup, probes, kmers, answers);
  }
  MPI_Win_flush_all(lookup->index->win);
}
