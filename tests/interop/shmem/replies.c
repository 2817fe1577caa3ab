/* Replies that do not fit: both ends ask for more than their rings hold, and neither waits in a handler. What a PE
   sends to another one, replies or requests, is handled in its order all the same. */

#include <shmemx.h>
#include <stddef.h>

#include "../check.h"

enum { requests = 400, pes_max = 8 };

struct answer {
  int pe;
  int number; /* of all that this PE has given to the other one */
  char more[2984];
  int last;
};

/* Small ones have room where large ones have none. */
static size_t bytes_of(int number) { return number % 3 == 0 ? offsetof(struct answer, more) : sizeof(struct answer); }

static int given[pes_max], taken[pes_max];
static void answer_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  const struct answer* const got = buffer;
  CHECK(bytes == bytes_of(got->number) && got->pe == source && got->number == ++taken[source]);
  CHECK(bytes < sizeof *got || got->last == got->number);
}
static void question_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  const int number = ++given[source];
  const struct answer answer = {shmem_my_pe(), number, {0}, number};
  shmemx_am_reply(2, &answer, bytes_of(number), token);
}
static void behind_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  CHECK(taken[source] >= *(int*)buffer);
}

/* One that does not fit goes on its way, though its PE calls nothing but a quiet that has nothing to wait for. */
static char large[1 << 20];
static volatile int done;
static size_t large_bytes;
static void large_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  shmemx_am_reply(5, large, sizeof large, token);
}
static void taken_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { large_bytes = bytes; }
static void done_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { done = 1; }
static void reply_in_quiet(void) {
  const int me = shmem_my_pe();
  if (me == 1) {
    shmemx_am_request(0, 4, NULL, 0);
    shmemx_am_quiet();
    CHECK(large_bytes == sizeof large);
    shmemx_am_request(0, 6, NULL, 0);
  }
  while (me == 0 && shmem_n_pes() > 1 && !done) shmemx_am_quiet();
}

int main(void) {
  shmem_init();
  shmemx_am_attach(1, question_handler);
  shmemx_am_attach(2, answer_handler);
  shmemx_am_attach(3, behind_handler);
  shmemx_am_attach(4, large_handler);
  shmemx_am_attach(5, taken_handler);
  shmemx_am_attach(6, done_handler);
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < requests; ++i) {
      for (int pe = 0; pe < shmem_n_pes(); ++pe) {
        shmemx_am_request(pe, 1, &i, sizeof i);
        const int replies_before = given[pe];
        shmemx_am_request(pe, 3, &replies_before, sizeof replies_before);
      }
    }
    if (round == 1) shmemx_am_quiet();
    if (round == 2) shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); ++pe) CHECK(taken[pe] == round * requests);
  }
  reply_in_quiet();
  shmem_finalize();
  return 0;
}
