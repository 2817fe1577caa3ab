/* A program of long ago: its names, its arrays, and no end but that of main. */

#include <mpp/shmem.h>
#include <shmemx.h>

#include "../check.h"

static long pSync[_SHMEM_BCAST_SYNC_SIZE + _SHMEM_SYNC_SIZE];
static int pWrk[_SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static volatile int flag;
volatile long turns;
static int total, mine;

void hello(void* buffer, size_t bytes, int source, shmemx_am_token_t token);
void hello(void* buffer, size_t bytes, int source, shmemx_am_token_t token) { flag = *(int*)buffer; }

int main(int argc, char** argv) {
  start_pes(0);
  const int me = _my_pe();
  const int pes = _num_pes();
  for (int i = 0; i < _SHMEM_BCAST_SYNC_SIZE; ++i) pSync[i] = _SHMEM_SYNC_VALUE;
  int* const data = shmalloc(pes * sizeof(int));
  shmem_barrier_all();
  for (int pe = 0; pe < pes; ++pe) shmem_int_p(&data[me], me * me, pe);
  shmem_barrier_all();
  for (int pe = 0; pe < pes; ++pe) CHECK(data[pe] == pe * pe);

  mine = me + 1;
  shmem_int_sum_to_all(&total, &mine, 1, 0, 0, pes, pWrk, pSync);
  CHECK(total == pes * (pes + 1) / 2);

  shmemx_am_attach(4, hello);
  int number = me + 1;
  shmemx_am_request((me + 1) % pes, 4, &number, sizeof number);
  shmem_int_wait(&flag, 0);
  CHECK(flag == (me + pes - 1) % pes + 1);
  shmem_int_wait_until(&flag, _SHMEM_CMP_GT, 0);
  shmem_set_lock(&turns);
  shmem_clear_lock(&turns);
  shmem_clear_cache_line_inv(data);
  CHECK(shmem_int_fadd(&total, 0, 0) == shmem_int_g(&total, 0));
  shfree(data);
  return 0;
}
