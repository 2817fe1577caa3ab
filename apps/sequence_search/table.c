#include "apps/sequence_search/table.h"

#include "apps/sequence_search/kmers.h"

#define HEADER_BYTES 64 /* the shape; slots begin at a cache line */

struct table_shape shape_for(uint64_t occurrences) {
  return (struct table_shape){.slots = occurrences + occurrences / 2 + 1, .positions = occurrences};
}

size_t slot_offset(uint64_t slot) { return HEADER_BYTES + (size_t)slot * sizeof(struct table_slot); }

size_t position_offset(struct table_shape shape, uint64_t position) {
  return slot_offset(shape.slots) + (size_t)position * sizeof(uint32_t);
}

size_t table_bytes(struct table_shape shape) { return position_offset(shape, shape.positions + 1) & ~(size_t)7; }

uint64_t first_slot_of(uint64_t hash, struct table_shape shape) { return (hash & UINT32_MAX) * shape.slots >> 32; }

static struct table_slot* slots_of(void* memory) { return (struct table_slot*)(void*)((char*)memory + HEADER_BYTES); }

/* The slot of a k-mer, or the empty slot where it belongs. */
static struct table_slot* find_slot(void* memory, struct table_shape shape, uint64_t kmer) {
  struct table_slot* const slots = slots_of(memory);
  uint64_t slot = first_slot_of(hash_of(kmer), shape);
  while (slots[slot].key != 0 && slots[slot].key != kmer + 1) slot = slot + 1 < shape.slots ? slot + 1 : 0;
  return &slots[slot];
}

uint64_t count_occurrences(const struct sequences* reference, int k, int rank, int ranks) {
  uint64_t count = 0, kmer;
  size_t begin;
  for (size_t i = 0; i < reference->count; ++i) {
    struct kmer_scan scan = scan_kmers(reference, i, k);
    while (next_kmer(&scan, &kmer, &begin)) count += owner_of(hash_of(kmer), ranks) == rank;
  }
  return count;
}

/* Gives each slot its place among the positions, and sets its count to 0 again. */
static void place_positions(struct table_slot* slots, struct table_shape shape) {
  uint32_t next = 0;
  for (uint64_t i = 0; i < shape.slots; ++i) {
    slots[i].first = next;
    next += slots[i].count;
    slots[i].count = 0;
  }
}

/* Occurrences whose slots the processor fetches at the same time. */
#define GROUP 32
struct group {
  void* memory;
  struct table_shape shape;
  bool has_places; /* slots have their place among the positions */
  int count;
  uint64_t kmers[GROUP];
  uint32_t positions[GROUP];
};

/* Adds the occurrences of a group to the table, and empties the group. */
static void insert(struct group* group) {
  uint32_t* const positions = (uint32_t*)(void*)((char*)group->memory + position_offset(group->shape, 0));
  for (int i = 0; i < group->count; ++i) {
    struct table_slot* const slot = find_slot(group->memory, group->shape, group->kmers[i]);
    slot->key = group->kmers[i] + 1;
    if (group->has_places) positions[slot->first + slot->count] = group->positions[i];
    ++slot->count;
  }
  group->count = 0;
}

/* Adds the k-mers of a sequence that this rank has. */
static void insert_sequence(struct group* group, const struct sequences* reference, size_t sequence, int k, int rank,
                            int ranks) {
  struct kmer_scan scan = scan_kmers(reference, sequence, k);
  uint64_t kmer;
  size_t begin;
  while (next_kmer(&scan, &kmer, &begin)) {
    if (owner_of(hash_of(kmer), ranks) != rank) continue;
    prefetch_kmer(group->memory, kmer);
    group->kmers[group->count] = kmer;
    group->positions[group->count] = (uint32_t)(reference->begins[sequence] + begin);
    if (++group->count == GROUP) insert(group);
  }
  insert(group);
}

void fill_table(void* memory, struct table_shape shape, const struct sequences* reference, int k, int rank, int ranks) {
  *(struct table_shape*)memory = shape;
  struct group group = {.memory = memory, .shape = shape};
  for (size_t i = 0; i < reference->count; ++i) insert_sequence(&group, reference, i, k, rank, ranks);
  place_positions(slots_of(memory), shape);
  group.has_places = true;
  for (size_t i = 0; i < reference->count; ++i) insert_sequence(&group, reference, i, k, rank, ranks);
}

void prefetch_kmer(const void* memory, uint64_t kmer) {
  const struct table_shape shape = *(const struct table_shape*)memory;
  __builtin_prefetch((const char*)memory + slot_offset(first_slot_of(hash_of(kmer), shape)));
}

const uint32_t* find_kmer(const void* memory, uint64_t kmer, uint32_t* count) {
  const struct table_shape shape = *(const struct table_shape*)memory;
  const struct table_slot* const slot = find_slot((void*)(uintptr_t)memory, shape, kmer);
  *count = slot->count;
  if (slot->key == 0) return NULL;
  return (const uint32_t*)(const void*)((const char*)memory + position_offset(shape, slot->first));
}
