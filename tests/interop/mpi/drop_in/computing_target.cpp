// Passive-target epochs on a process that computes, without a call of MPI, until others have done what it waits for.
// Needs AMITY_PROGRESS_THREAD=1. The threads that the program may have are the level of its argument.

#include <sched.h>

#include <vector>

#include "program.hpp"

namespace {

using program::rank;
using program::step;

constexpr int words = 900;

/// Process 1 adds to a word of process 0, which makes no call until it has seen the sum.
void add_to_word(MPI_Win win, long* word) {
  constexpr long times = 20;
  if (rank() == 0) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < times) ::sched_yield();
  } else {
    const long one = 1;
    for (long i = 0; i < times; ++i) {
      long before = -1;
      MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
      MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
      MPI_Win_flush(0, win);
      CHECK(before == i);
      MPI_Win_unlock(0, win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Process 0 is busy with messages all the time, and makes no call.
void stream(MPI_Win win, long* word) {
  constexpr long times = 60'000;
  const long seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < seen + times) ::sched_yield();
  } else {
    const std::vector<long> ones(words, 1);  // about as many as a packet has room for
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (long i = 0; i < times; ++i) MPI_Accumulate(ones.data(), words, MPI_LONG, 0, 0, words, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Requests become complete though a thread of the library receives their answers.
void requests(MPI_Win win) {
  if (rank() == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (int i = 0; i < 100; ++i) {
      long seen = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(seen == 20);
    }
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_threads = program::wants_threads(argc, argv);
  const program::session running(argc, argv, program::session::seconds_max,
                                 has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  CHECK(has_threads || running.level() == MPI_THREAD_SINGLE);  // the thread of the library is none of the program's
  std::vector<long> own(words);
  MPI_Win win = MPI_WIN_NULL;
  step = "a created window";
  MPI_Win_create(own.data(), words * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  add_to_word(win, own.data());
  requests(win);
  stream(win, own.data());
  MPI_Win_free(&win);
  step = "an allocated window";
  long* memory = nullptr;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  add_to_word(win, memory);
  requests(win);
  MPI_Win_free(&win);
}
