// Processes that wait in a loop for what others do to their windows. Arguments: `no_shared` leaves out shared windows,
// `no_messages` the loop of messages.

#include <atomic>
#include <vector>

#include "program.hpp"

namespace {

using program::rank;
using program::step;

/// A window of created memory: its owner serves what others do there.
struct served {
  std::vector<int> memory = std::vector<int>(100, 0);
  MPI_Win win = MPI_WIN_NULL;

  served() { MPI_Win_create(memory.data(), 400, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win); }
  ~served() { MPI_Win_free(&win); }
  served(const served&) = delete;
  served& operator=(const served&) = delete;

  /// Rank 1 increments a number of rank 0, in calls that need its help.
  void increment(int times) {
    for (int i = 0; i < times; ++i) {
      int value = 0;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_flush(0, win);
      ++value;
      MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_unlock(0, win);
    }
  }
};

void on_test() {
  step = "a loop of MPI_Win_test";
  served other, own;
  MPI_Group peer = program::group_of({1 - rank()});
  for (int round = 1; round <= 20; ++round) {
    if (rank() == 0) {
      MPI_Win_post(peer, 0, own.win);
      for (int done = 0; done == 0;) MPI_Win_test(own.win, &done);
      CHECK(own.memory[7] == round);
      CHECK(std::atomic_ref(other.memory[0]).load() >= 5 * round);  // rank 1 continues
    } else {
      other.increment(5);
      MPI_Win_start(peer, 0, own.win);
      MPI_Put(&round, 1, MPI_INT, 0, 7, 1, MPI_INT, own.win);
      MPI_Win_complete(own.win);
    }
  }
  MPI_Group_free(&peer);
}

/// The processes of a node take turns by a number in shared memory.
void on_shared_memory() {
  step = "a loop on shared memory";
  served other;
  MPI_Win win = MPI_WIN_NULL;
  int* own = nullptr;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
  MPI_Aint bytes = 0;
  int unit = 0;
  int* first = nullptr;
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  if (rank() == 0) *first = 0;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::atomic_ref<int> turn(*first);
  for (int round = 0; round < 20; ++round) {
    while (turn.load(std::memory_order_relaxed) != 2 * round + rank()) MPI_Win_sync(win);
    MPI_Win_sync(win);
    if (rank() == 1) other.increment(5);
    MPI_Win_sync(win);
    turn.store(2 * round + rank() + 1, std::memory_order_relaxed);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, other.win);
    CHECK(other.memory[0] == 100);
    MPI_Win_unlock(0, other.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/// The MPI has done at once what this call waits for.
void pass_message_to_oneself() {
  int sent = 0, received = 0;
  MPI_Sendrecv(&sent, 1, MPI_INT, 0, 0, &received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/// Between looks at the memory, each process does this.
void on_own_memory(const char* what, void (*between)(MPI_Win)) {
  step = what;
  served all;
  MPI_Win_lock_all(0, all.win);
  const std::atomic_ref<int> mine(all.memory[3]);
  for (int round = 1; round <= 20; ++round) {
    if (round % 2 == rank()) {
      MPI_Accumulate(&round, 1, MPI_INT, 1 - rank(), 3, 1, MPI_INT, MPI_REPLACE, all.win);
      MPI_Win_flush(1 - rank(), all.win);
    } else {
      while (mine.load(std::memory_order_relaxed) != round) between(all.win);
    }
  }
  MPI_Win_unlock_all(all.win);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::cases all(argc, argv);
  on_test();
  on_own_memory("a loop of MPI_Win_sync", [](MPI_Win win) { MPI_Win_sync(win); });
  if (!all.leave_out("no_messages"))
    on_own_memory("a loop of messages that do not wait", [](MPI_Win) { pass_message_to_oneself(); });
  if (!all.leave_out("no_shared")) on_shared_memory();
  all.end();
}
