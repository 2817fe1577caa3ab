#include "apps/sequence_search/index.h"

#include <limits.h>
#include <mpix_am.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sequence_search/kmers.h"

/* Hints for the window. Handlers only read the table, and buffers stay to the end. */
static MPI_Info hints_of(const struct index_options* options, int ranks) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "am_atomic", "false");
  MPI_Info_set(info, "am_buf_interleave_am_detach", "false");
  for (int rank = 0; options->guarantee_bytes > 0 && rank < ranks; ++rank) {
    char key[40], value[30];
    snprintf(key, sizeof key, "am_user_buf_%d", rank);
    snprintf(value, sizeof value, "%zu", options->guarantee_bytes);
    MPI_Info_set(info, key, value);
  }
  return info;
}

static void attach_buffer(struct index* index, size_t bytes) {
  if (bytes == 0) return;
  index->buffer = allocate(bytes, 1);
  index->buffer_bytes = bytes;
  MPIX_Am_win_buffer_attach(index->buffer, (MPI_Aint)bytes, index->win);
}

struct index create_index(const struct sequences* reference, const struct index_options* options,
                          struct problem* problem) {
  struct index index = {.win = MPI_WIN_NULL};
  MPI_Comm_rank(MPI_COMM_WORLD, &index.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &index.ranks);
  uint64_t occurrences = count_occurrences(reference, options->k, index.rank, index.ranks);
  MPI_Allreduce(MPI_IN_PLACE, &occurrences, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  index.shape = shape_for(occurrences);
  const size_t bytes = table_bytes(index.shape);
  if (bases_of(reference) > UINT32_MAX || bytes / sizeof(uint64_t) > INT_MAX) {
    fail(problem,
         "the reference has %zu bases, and a rank's table %zu bytes; the limits are %u bases and 16 GiB: use "
         "more ranks, or search parts of the reference",
         bases_of(reference), bytes, UINT32_MAX);
    return index;
  }
  MPI_Info info = hints_of(options, index.ranks);
  MPI_Win_allocate((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &index.memory, &index.win);
  MPI_Info_free(&info);
  memset(index.memory, 0, bytes);
  fill_table(index.memory, index.shape, reference, options->k, index.rank, index.ranks);
  attach_buffer(&index, options->buffer_bytes);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, index.win);
  MPI_Win_sync(index.win);
  MPI_Barrier(MPI_COMM_WORLD);
  return index;
}

void free_index(struct index* index) {
  if (index->win == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(index->win);
  MPI_Win_free(&index->win);
  free(index->buffer);
}
