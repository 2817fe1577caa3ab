// Four threads of each process use windows at once.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>
#include <vector>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

constexpr int threads = 4;
constexpr int rounds = 100;

template <class Work>
void on_threads(Work work) {
  std::vector<std::jthread> all;
  for (int thread = 0; thread < threads; ++thread) all.emplace_back(work, thread);
}

struct longs : program::filled_window<long> {
  explicit longs(int count, MPI_Comm comm = MPI_COMM_WORLD)
      : filled_window("allocated", count, comm, program::bytes_min) {
    std::fill_n(memory, count, 0);
    MPI_Barrier(comm);
  }
};

void one_window() {
  step = "threads on one window";
  longs all(1 + threads);
  MPI_Win_lock_all(0, all.win);
  on_threads([&](int thread) {
    const long one = 1;
    for (long round = 1; round <= rounds; ++round) {
      long before = 0, seen = 0;
      MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, all.win);
      MPI_Put(&round, 1, MPI_LONG, next(), 1 + thread, 1, MPI_LONG, all.win);
      if (round % 2 == 0) {
        MPI_Win_flush(0, all.win);
        MPI_Win_flush(next(), all.win);
      } else {
        MPI_Win_flush_all(all.win);
      }
      CHECK(before >= round - 1 && before < 1L * threads * rounds * size());
      MPI_Get(&seen, 1, MPI_LONG, next(), 1 + thread, 1, MPI_LONG, all.win);
      MPI_Win_flush_local(next(), all.win);
      CHECK(seen == round);
    }
  });
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) CHECK(all.memory[0] == 1L * threads * rounds * size());
  for (int i = 1; i <= threads; ++i) CHECK(all.memory[i] == rounds);
  MPI_Barrier(MPI_COMM_WORLD);
}

void requests() {
  step = "requests of threads";
  longs all(2 * threads);
  MPI_Win_lock_all(0, all.win);
  on_threads([&](int thread) {
    const long one = 1;
    for (long round = 1; round <= rounds; ++round) {
      std::array<MPI_Request, 2> pending{};
      long before = -1, seen = -1;
      MPI_Rput(&round, 1, MPI_LONG, next(), thread, 1, MPI_LONG, all.win, &pending[0]);
      MPI_Raccumulate(&one, 1, MPI_LONG, next(), threads + thread, 1, MPI_LONG, MPI_SUM, all.win, &pending[1]);
      MPI_Waitall(2, pending.data(), MPI_STATUSES_IGNORE);
      MPI_Win_flush(next(), all.win);
      MPI_Rget(&seen, 1, MPI_LONG, next(), thread, 1, MPI_LONG, all.win, &pending[0]);
      MPI_Rget_accumulate(&one, 1, MPI_LONG, &before, 1, MPI_LONG, next(), threads + thread, 1, MPI_LONG, MPI_NO_OP,
                          all.win, &pending[1]);
      MPI_Wait(&pending[1], MPI_STATUS_IGNORE);
      MPI_Wait(&pending[0], MPI_STATUS_IGNORE);
      CHECK(seen == round && before == round);
    }
  });
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
}

void window_of_each_thread() {
  step = "a window of each thread";
  std::array<longs, threads> all{longs(1), longs(1), longs(1), longs(1)};
  on_threads([&](int thread) {
    longs& own = all[static_cast<std::size_t>(thread)];
    for (int round = 0; round < rounds; ++round) {
      long value = -1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, own.win);
      MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, own.win);
      MPI_Win_flush(0, own.win);
      ++value;
      MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, own.win);
      MPI_Win_unlock(0, own.win);
      if (round % 10 == 0) {  // messages among the one-sided calls
        int sent = round, received = -1;
        MPI_Sendrecv(&sent, 1, MPI_INT, next(), thread, &received, 1, MPI_INT, previous(), thread, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(received == round);
      }
    }
  });
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    for (const longs& each : all) CHECK(*each.memory == 1L * rounds * size());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Messages from another thread end the wait of the first one.
void tests_of_requests_during_a_wait() {
  step = "MPI_Test while another thread waits for a lock";
  longs locked(1), other(1);
  if (rank() == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locked.win);
  MPI_Barrier(MPI_COMM_WORLD);
  int word = 0;
  if (rank() == 0) {
    const std::jthread waits([&] {
      long seen = -1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locked.win);
      MPI_Get(&seen, 1, MPI_LONG, 1, 0, 1, MPI_LONG, locked.win);
      MPI_Win_unlock(1, locked.win);
      CHECK(seen == 0);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it probably waits
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, other.win);
    for (int round = 0; round < rounds; ++round) {
      long seen = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&seen, 1, MPI_LONG, 1, 0, 1, MPI_LONG, other.win, &request);
      for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(seen == 0);
    }
    MPI_Win_unlock(1, other.win);
    MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank() == 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_unlock(1, locked.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void creations() {
  step = "two threads create windows of different communicators";
  std::array<MPI_Comm, 2> comms{};  // the second one has the processes in the opposite order
  for (const int sign : {1, -1}) MPI_Comm_split(MPI_COMM_WORLD, 0, sign * rank(), &comms[sign > 0 ? 0 : 1]);
  const auto work = [&](std::size_t thread) {
    int member = 0;
    MPI_Comm_rank(comms[thread], &member);
    for (long round = 0; round < 30; ++round) {
      longs all(1, comms[thread]);
      const long value = 1000 * member + round;
      MPI_Win_fence(0, all.win);
      MPI_Put(&value, 1, MPI_LONG, (member + 1) % size(), 0, 1, MPI_LONG, all.win);
      MPI_Win_fence(0, all.win);
      CHECK(*all.memory == 1000 * ((member + size() - 1) % size()) + round);
    }
  };
  { const std::jthread first(work, std::size_t{0}), second(work, std::size_t{1}); }
  for (MPI_Comm& each : comms) MPI_Comm_free(&each);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv, program::session::seconds_max, MPI_THREAD_MULTIPLE);
  CHECK(running.level() == MPI_THREAD_MULTIPLE);
  one_window();
  requests();
  window_of_each_thread();
  creations();
  if (argc < 2 || std::string_view(argv[1]) != "native") tests_of_requests_during_a_wait();
}
