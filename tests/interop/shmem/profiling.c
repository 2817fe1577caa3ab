/* A tool puts a function of its own in front of one of the library's. */

#include <pshmem.h>

#include "../check.h"

static int calls, word;

void shmem_int_p(int* dest, int value, int pe) {
  ++calls;
  pshmem_int_p(dest, value + 1, pe);
}

int main(void) {
  pshmem_init();
  const int next = (pshmem_my_pe() + 1) % pshmem_n_pes();
  shmem_int_p(&word, 41, next);
  pshmem_barrier_all();
  CHECK(calls == 1 && word == 42);
  shmem_finalize();
  return 0;
}
