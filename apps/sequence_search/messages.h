#ifndef AMITY_APPS_SEQUENCE_SEARCH_MESSAGES_H
#define AMITY_APPS_SEQUENCE_SEARCH_MESSAGES_H

/* Lookups by active messages. The k-mers of a batch are sorted by their owners, and each owner gets one message. A
 * segment has several k-mers; its output has the hits of all of them, one after the other, and zeros if the method
 * sends all of it. */

#include <stdbool.h>

#include "apps/sequence_search/lookup.h"

struct message_lookup;

/* Bytes that `kmers` k-mers take in buffers of the target: input and output of their segments. */
size_t target_bytes_of(size_t kmers, const struct lookup_options* options);

/* Both are collective over all processes. `is_vector`: answers have what was found. */
struct message_lookup* create_message_lookup(bool is_vector, const struct index* index,
                                             const struct lookup_options* options);
void free_message_lookup(struct message_lookup* lookup);

/* Appends what was found to the answers. */
void look_up_by_messages(struct message_lookup* lookup, const uint64_t* kmers, size_t count, struct answers answers);

#endif
