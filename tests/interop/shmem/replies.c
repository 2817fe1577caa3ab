/* Replies that do not fit: both ends ask for more than their rings hold, and neither waits in a handler. */

#include <shmemx.h>

#include "../check.h"

enum { requests = 400, reply_bytes = 3000 };

static long answers;
static void answer_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  const char* const got = buffer;
  CHECK(bytes == reply_bytes && got[0] == source && got[reply_bytes - 1] == source);
  ++answers;
}
static void question_handler(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  char answer[reply_bytes] = {0};
  answer[0] = answer[reply_bytes - 1] = (char)shmem_my_pe();
  shmemx_am_reply(2, answer, sizeof answer, token);
}

int main(void) {
  shmem_init();
  shmemx_am_attach(1, question_handler);
  shmemx_am_attach(2, answer_handler);
  for (int i = 0; i < requests; ++i) {
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmemx_am_request(pe, 1, &i, sizeof i);
  }
  shmemx_am_quiet();
  CHECK(answers == (long)requests * shmem_n_pes());
  shmem_finalize();
  return 0;
}
