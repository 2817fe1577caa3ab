/* MPI: messages whose tags say what they are. A worker puts back what it found, which also asks for more. */

#include <mpi.h>
#include <stdlib.h>

#include "bench/shmem/salesman/form.h"

enum { tag_put_back_and_ask, tag_assign, tag_done, master_rank = 0 };

static int size;
static int* idle;

struct job form_begin(void) {
  struct job job;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.me);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  size = job.size;
  idle = malloc(sizeof(int) * (size_t)size);
  return job;
}

void form_meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

void form_master(const struct instance* roads, struct path* best) {
  struct master master;
  struct findings found;
  struct assignment next;
  int idle_count = 0;
  master_begin(&master, roads);
  MPI_Barrier(MPI_COMM_WORLD);
  while (idle_count < size - 1) {
    MPI_Status status;
    MPI_Recv(&found, sizeof found, MPI_BYTE, MPI_ANY_SOURCE, tag_put_back_and_ask, MPI_COMM_WORLD, &status);
    master_take_in(&master, &found);
    idle[idle_count++] = status.MPI_SOURCE;
    while (idle_count > 0 && master_assign(&master, &next)) {
      MPI_Send(&next, sizeof next, MPI_BYTE, idle[--idle_count], tag_assign, MPI_COMM_WORLD);
    }
  }
  for (int worker = 1; worker < size; ++worker) MPI_Send(NULL, 0, MPI_BYTE, worker, tag_done, MPI_COMM_WORLD);
  *best = master.best;
  master_end(&master);
}

void form_worker(const struct instance* roads) {
  struct findings found = {.tour.length = no_tour};
  struct assignment given;
  MPI_Barrier(MPI_COMM_WORLD);
  for (;;) {
    MPI_Status status;
    MPI_Send(&found, (int)findings_bytes(&found), MPI_BYTE, master_rank, tag_put_back_and_ask, MPI_COMM_WORLD);
    MPI_Recv(&given, sizeof given, MPI_BYTE, master_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == tag_done) return;
    work(roads, &given, &found);
  }
}

void form_end(void) {
  free(idle);
  MPI_Finalize();
}
void form_fail(void) {
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}
