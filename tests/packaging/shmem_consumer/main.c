/* A program of OpenSHMEM with active messages: each PE sends a number to the next one. Fails unless it runs on as many
   PEs as its argument says. */

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>

static long received; /* symmetric */

static void take(void* buffer, size_t bytes, int source, shmemx_am_token_t token) {
  (void)bytes, (void)source, (void)token;
  received = *(long*)buffer;
}

int main(int argc, char** argv) {
  const long sent = 7;
  long next_received;
  int pes, next;
  shmem_init();
  pes = shmem_n_pes();
  next = (shmem_my_pe() + 1) % pes;
  shmemx_am_attach(1, take);
  shmemx_am_request(next, 1, &sent, sizeof sent);
  shmem_barrier_all(); /* the handlers have run */
  next_received = shmem_long_g(&received, next);
  shmem_finalize();
  return argc > 1 && pes == atoi(argv[1]) && received == sent && next_received == sent ? 0 : 1;
}
