#include "apps/sequence_search/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "apps/sequence_search/gets.h"
#include "apps/sequence_search/messages.h"

struct lookup {
  struct message_lookup* messages; /* NULL: gets */
  struct get_lookup* gets;
  struct answers answers;
};

struct lookup* create_lookup(enum method method, const struct index* index, const struct lookup_options* options) {
  struct lookup* const lookup = allocate(1, sizeof *lookup);
  lookup->answers.counts = allocate(options->batch_kmers_max, sizeof(uint32_t));
  lookup->answers.positions = allocate(options->batch_kmers_max * (size_t)options->positions_max, sizeof(uint32_t));
  if (method == METHOD_GET) {
    lookup->gets = create_get_lookup(index, options);
  } else {
    lookup->messages = create_message_lookup(method == METHOD_AMV, index, options);
  }
  return lookup;
}

void free_lookup(struct lookup* lookup) {
  free_message_lookup(lookup->messages);
  free_get_lookup(lookup->gets);
  free(lookup->answers.counts);
  free(lookup->answers.positions);
  free(lookup);
}

struct answers look_up(struct lookup* lookup, const uint64_t* kmers, size_t count) {
  memset(lookup->answers.counts, 0, count * sizeof(uint32_t));
  if (lookup->messages) {
    look_up_by_messages(lookup->messages, kmers, count, lookup->answers);
  } else {
    look_up_by_gets(lookup->gets, kmers, count, lookup->answers);
  }
  return lookup->answers;
}
