// A window of processes of two jobs: those of MPI_COMM_WORLD, and one that they have spawned, which may run without the
// library.

#include <string_view>

#include "program.hpp"

namespace {

using program::step;

/// The processes of `comm` pass their ranks in a ring, by fences and by locks.
void use_window(MPI_Comm comm) {
  int own = 0, members = 0;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &members);
  const int to = (own + 1) % members, from = (own + members - 1) % members;
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(program::bytes_min, sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  memory[0] = memory[1] = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&own, 1, MPI_INT, to, 0, 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  CHECK(memory[0] == from);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
  MPI_Put(&own, 1, MPI_INT, to, 1, 1, MPI_INT, win);
  MPI_Win_unlock(to, win);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, own, 0, win);
  CHECK(memory[1] == from);
  MPI_Win_unlock(own, win);
  void* base = nullptr;
  int found = 0;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found);
  CHECK(found != 0 && base == memory);
  MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  program::watch(60);
  MPI_Comm others = MPI_COMM_NULL, all = MPI_COMM_NULL;
  MPI_Comm_get_parent(&others);
  const bool is_child = others != MPI_COMM_NULL;
  use_window(MPI_COMM_WORLD);
  step = "MPI_Comm_spawn";
  if (!is_child)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(others, is_child ? 1 : 0, &all);
  step = "windows of two jobs";
  use_window(all);
  use_window(all);
  step = "a window of this job";
  use_window(MPI_COMM_WORLD);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&others);
  step = "MPI_Finalize";
  MPI_Finalize();
  return 0;
}
