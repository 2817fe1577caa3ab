/* Mistakes, one for each name: the library says what is wrong and ends the job. */

#include <shmem.h>
#include <shmemx.h>
#include <string.h>

#include "../check.h"

static int word;
static int words[2];
static long longs[2];
static long sync_words[SHMEM_COLLECT_SYNC_SIZE];
static shmemx_am_mutex mutex;
static void* shared;

static void nothing(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {}
static void asks(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { shmemx_am_request(0, 1, NULL, 0); }
static void replies_twice(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  shmemx_am_reply(1, NULL, 0, token);
  shmemx_am_reply(1, NULL, 0, token);
}
#define IF(name) if (strcmp(mistake, #name) == 0)
static const char* mistake;
static void waits(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  IF(collective) shmem_free(shared);
  IF(handler_wait) shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99);
#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
  static uint64_t signal_word;
  IF(handler_waits) shmem_int_wait_until_all(words, 2, NULL, SHMEM_CMP_EQ, 99);
  IF(handler_signal) shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 99);
#endif
}
static void replies(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  shmemx_am_reply(3, NULL, 0, token);
}

#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
/* Uses of a context that was destroyed, and of a team. */
static void use_context(void) {
  static int fetched;
  shmem_ctx_t context;
  shmem_team_t team;
  shmem_ctx_create(0, &context);
  shmem_ctx_destroy(context);
  shmem_ctx_create(0, &(shmem_ctx_t){NULL}); /* does not become the other one again */
  IF(context_destroy) shmem_ctx_destroy(context);
  IF(context_put) shmem_ctx_int_put(context, words, &word, 1, 0);
  IF(context_atomic) shmem_ctx_int_atomic_fetch_inc_nbi(context, &fetched, &word, 0);
  IF(context_fence) shmem_ctx_fence(context);
  IF(context_quiet) shmem_ctx_quiet(context);
  IF(context_team) shmem_ctx_get_team(context, &team);
}
static void use_team(void) {
  shmem_team_t team, second;
  shmem_ctx_t context;
  shmem_team_config_t configuration;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team);
  shmem_team_destroy(team);
  IF(team_destroy) shmem_team_destroy(team);
  IF(team_pe) shmem_team_my_pe(team);
  IF(team_pes) shmem_team_n_pes(team);
  IF(team_config) shmem_team_get_config(team, 0, &configuration);
  IF(team_translate) shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, team);
  IF(team_split) shmem_team_split_strided(team, 0, 1, 1, NULL, 0, &second);
  IF(team_split_2d) shmem_team_split_2d(team, 1, NULL, 0, &second, NULL, 0, &second);
  IF(team_context) shmem_team_create_ctx(team, 0, &context);
  IF(team_ptr) shmem_team_ptr(team, &word, 0);
  IF(team_sync) shmem_team_sync(team);
  IF(team_reduce) shmem_int_sum_reduce(team, words, words, 1);
}

/* Collective calls that differ between the PEs. */
static void differ(int me) {
  static int others[2];
  int* const objects[2] = {shmem_malloc(64), shmem_malloc(64)};
  const size_t own = (size_t)me + 1;
  IF(sizes) shmem_malloc(1000 * own);
  IF(counts) shmem_calloc(own, 8);
  IF(alignments) shmem_align(64 * own, 8);
  IF(objects) shmem_free(objects[me]);
  IF(new_sizes) shmem_realloc(objects[0], 1000 * own);
  IF(roots) shmem_int_broadcast(SHMEM_TEAM_WORLD, words, others, 1, me);
  IF(lengths) shmem_int_fcollect(SHMEM_TEAM_WORLD, objects[0], words, own);
  IF(blocks) shmem_int_alltoall(SHMEM_TEAM_WORLD, objects[0], objects[1], own);
  IF(elements) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, objects[0], objects[1], own);
  IF(sets) shmem_barrier(0, 0, me == 0 ? 2 : 3, NULL);
  IF(operations) {
    if (me == 0)
      shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, others, 1);
    else
      shmem_int_max_reduce(SHMEM_TEAM_WORLD, words, others, 1);
  }
  IF(no_object) {
    if (me == 0)
      shmem_free(objects[0]);
    else
      shmem_free(NULL);
  }
  IF(early_exit) {
    if (me == 0) exit(0);
  }
  shmem_barrier_all();
}
#endif

int main(int argc, char** argv) {
  int on_stack = 0;
  mistake = argv[1];
  IF(before) shmem_int_p(&word, 1, 0);
  IF(early) shmemx_am_poll();
  shmem_init();
  const int me = shmem_my_pe();
  shmemx_am_attach(1, nothing);
  shmemx_am_attach(2, asks);
  shmemx_am_attach(3, replies);
  shmemx_am_attach(4, replies_twice);
  shmemx_am_attach_local(5, waits);
  shared = shmem_malloc(8);
  shmem_barrier_all();
  IF(after) {
    shmem_finalize();
    shmem_barrier_all();
  }
  IF(after_atomic) {
    for (int i = 0; i < 15; ++i) shmem_int_p(&word, 0, me); /* the next one would make progress */
    shmem_finalize();
    shmem_int_atomic_inc(&word, me);
  }
#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
  IF(after_context) {
    shmem_ctx_t context;
    shmem_ctx_create(0, &context);
    shmem_finalize();
    shmem_ctx_int_p(context, &word, 0, me);
  }
#endif
  IF(late) {
    shmem_finalize();
    shmemx_am_quiet();
  }
  IF(held_lock) {
    if (me == 1) CHECK(shmem_test_lock(&longs[0]) == 0);
  }
  IF(other_lock) {
    if (me == 0) shmem_set_lock(&longs[1]);
    shmem_barrier_all();
  }
  /* PE 1 errs, PE 0 waits for it. */
  if (me == 1) {
    IF(pe) shmem_int_p(&word, 1, 2);
    IF(address) shmem_int_p(&on_stack, 1, 0);
    IF(stride) shmem_int_iput(&word, words, (ptrdiff_t)1 << 40, 1, 2, 0);
    IF(no_stride) shmem_int_iget(words, words, 1, -1, 2, 0);
    IF(bytes) shmemx_am_request(0, 1, &word, (size_t)-1);
    IF(unknown) shmemx_am_request(0, 77, NULL, 0);
    IF(request) shmemx_am_request(0, 2, NULL, 0);
    IF(twice) shmemx_am_request(0, 4, NULL, 0);
    IF(reply) shmemx_am_request(0, 3, NULL, 0);
    if (strcmp(mistake, "collective") == 0 || strncmp(mistake, "handler_", 8) == 0) shmemx_am_request(0, 5, NULL, 0);
    IF(token) shmemx_am_reply(1, NULL, 0, &word);
    IF(registered) shmemx_am_attach(1, asks);
    IF(detach) shmemx_am_detach(6);
    IF(destination) shmemx_am_request(-1, 1, NULL, 0);
    IF(mutex) {
      shmemx_am_mutex_lock(&mutex);
      shmemx_am_mutex_lock(&mutex);
    }
    IF(holding) {
      shmemx_am_mutex_lock(&mutex);
      shmemx_am_request(1, 1, NULL, 0);
    }
    IF(count) shmem_int_sum_to_all(&word, &word, -3, 0, 0, 2, NULL, NULL);
    IF(comparison) shmem_int_test(&word, 78, 0);
#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
    static uint64_t signal_word;
    IF(signal_address) shmem_putmem_signal(&on_stack, &word, sizeof word, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
    IF(alltoall) shmem_int_alltoall(SHMEM_TEAM_WORLD, words, words, (size_t)1 << 40);
    IF(dest) shmem_int_fcollect(SHMEM_TEAM_WORLD, &on_stack, &word, 1);
    IF(configuration) {
      shmem_team_t second;
      shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, SHMEM_TEAM_NUM_CONTEXTS, &second);
    }
    if (strncmp(mistake, "context_", 8) == 0) use_context();
    if (strncmp(mistake, "team_", 5) == 0) use_team();
    IF(root) shmem_int_broadcast(SHMEM_TEAM_WORLD, &word, &word, 1, 7);
    IF(operation) shmem_putmem_signal(&word, words, sizeof word, &signal_word, 1, 77, 0);
    IF(context) {
      shmem_team_t second;
      shmem_ctx_t context;
      shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, 1, NULL, 0, &second);
      shmem_team_create_ctx(second, 0, &context);
      shmem_ctx_int_p(context, &word, 1, 1);
    }
#endif
    IF(set) shmem_barrier(0, 0, 3, NULL);
    IF(align) shmem_align(24, 1);
    IF(word) shmem_int_atomic_inc((int*)((char*)words + 2), 0);
    IF(length) shmem_int_put(words, words, (size_t)1 << 40, 0);
    IF(count_in_set) shmem_collect64(words, words, ((size_t)1 << 61) + 1, 0, 0, 2, sync_words);
    IF(count_to_all) shmem_long_iput(longs, longs, 1, 1, (size_t)1 << 61, 0); /* 2^64 bytes */
    IF(count_of_words) shmem_int_get(words, words, SIZE_MAX / 2 + 3, 0);      /* whose bytes no size_t counts */
    IF(set_length) shmem_int_sum_to_all(words, words, 1 << 30, 0, 0, 2, NULL, NULL);
    IF(free) shmem_free(&word);
    IF(lock) {
      static long lock;
      shmem_clear_lock(&lock);
    }
    IF(held_lock) shmem_set_lock(&longs[0]);
    IF(other_lock) shmem_clear_lock(&longs[1]);
  }
  IF(holding) shmem_barrier_all();
#if SHMEM_MINOR_VERSION >= 5 || SHMEM_MAJOR_VERSION > 1
  IF(collect) { /* each contribution fits, but not the second one behind the first */
    int* const large = shmem_malloc(40 << 20);
    shmem_int_collect(SHMEM_TEAM_WORLD, large, large, 10 << 20);
  }
  IF(source_length) { /* the source begins in symmetric memory and ends behind it */
    int* const large = shmem_malloc(40 << 20);
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, large, large + (30 << 18), 38 << 18);
  }
  if (argc > 2) differ(me);
  IF(no_block_stride) shmem_int_alltoalls(SHMEM_TEAM_WORLD, words, words, 0, 1, 1);
#endif
  shmem_int_wait_until(&word, SHMEM_CMP_EQ, 99); /* for ever */
  return 0;
}
