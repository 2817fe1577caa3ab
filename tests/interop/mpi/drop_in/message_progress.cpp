/// Targets run handlers in functions of MPI that wait, and on their progress thread. The argument `multiple` asks for
/// MPI_THREAD_MULTIPLE; with a progress thread, handlers then run there.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include <mpi.h>
#include <mpix_am.h>

#include "message_window.hpp"
#include "program.hpp"

using program::message_window;
using program::rank;
using program::size;
using program::step;

namespace {

void count_segments(const void* input, int, MPI_Datatype, void* persistent, int, MPI_Datatype, void* output, int,
                    MPI_Datatype, int segments) {
  const std::atomic_ref<int> sum(*static_cast<int*>(persistent));
  for (int i = 0; i < segments; ++i) {
    static_cast<int*>(output)[i] = static_cast<const int*>(input)[i] + 1;
    sum.fetch_add(1);
  }
}

constexpr int messages = 300, segments = 5;

/// Sends messages to process 0, and waits for their output.
void send_all(MPI_Win win, MPIX_Am_op op) {
  std::vector<int> in(messages * segments), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  for (int i = 0; i < messages; ++i) {
    CHECK(MPIX_Am(in.data() + i * segments, 1, MPI_INT, out.data() + i * segments, 1, MPI_INT, segments, 0, 1, MPI_INT,
                  0, 1, MPI_INT, 1, MPI_INT, op, win) == MPI_SUCCESS);
    if (i % 50 == 0) CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
  }
  CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == in[i] + 1);
}

/// Process 0 waits in a function of MPI for processes that send messages.
template <class Wait, class Arrive>
void target_waits(const char* name, MPIX_Am_op op, Wait wait, Arrive arrive) {
  step = name;
  const message_window<int> on(1);
  if (rank() == 0) {
    wait();
    CHECK(*on.data() == messages * segments * (size() - 1));
  } else {
    send_all(on.win(), op);
    arrive();
  }
}

void waits(MPIX_Am_op op) {
  const auto barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  target_waits("MPI_Barrier", op, barrier, barrier);
  const auto receive = [] {
    for (int i = 1; i < size(); ++i)
      MPI_Recv(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  target_waits("MPI_Recv", op, receive, [] { MPI_Send(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD); });
  int sum = 0;
  const auto reduce = [&] { MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); };
  target_waits("MPI_Allreduce", op, reduce, reduce);
  const auto test = [] {
    for (int i = 1; i < size(); ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      int done = 0;
      MPI_Irecv(nullptr, 0, MPI_INT, i, 3, MPI_COMM_WORLD, &request);
      while (done == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
  };
  target_waits("MPI_Test", op, test, [] { MPI_Send(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD); });
}

/// Process 0 is in MPI_Win_free of the window, or of another one.
void target_frees(MPIX_Am_op op) {
  for (const bool is_other : {false, true}) {
    step = "MPI_Win_free";
    int* base = nullptr;
    MPI_Win win = MPI_WIN_NULL, other = MPI_WIN_NULL;
    MPI_Win_allocate(program::bytes_of<int>(), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) send_all(win, op);
    MPI_Win_free(is_other ? &other : &win);
    if (is_other && rank() == 0) CHECK(*base == messages * segments * (size() - 1));
    MPI_Win_free(is_other ? &win : &other);
  }
}

/// Process 0 computes until the messages have been carried out.
void target_computes(MPIX_Am_op op) {
  step = "a target that computes";
  const message_window<int> on(1);
  if (rank() == 0) {
    const std::atomic_ref<int> sum(*on.data());
    while (sum.load() < messages * segments * (size() - 1)) std::this_thread::yield();
  } else {
    send_all(on.win(), op);
  }
}

/// Two threads of each process send messages on one window, while handlers run here, too.
void senders(MPIX_Am_op op) {
  step = "several threads";
  const message_window<int> on(1);
  MPI_Win_lock_all(0, on.win());
  const auto send = [&] {
    std::vector<int> in(messages, 4), out(messages);
    for (int i = 0; i < messages; ++i) {
      CHECK(MPIX_Am(in.data() + i, 1, MPI_INT, out.data() + i, 1, MPI_INT, 1, 0, 1, MPI_INT, 0, 1, MPI_INT, 1, MPI_INT,
                    op, on.win()) == MPI_SUCCESS);
      if (i % 10 == 0) CHECK(MPI_Win_flush(0, on.win()) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_flush(0, on.win()) == MPI_SUCCESS);
    CHECK(out == std::vector<int>(messages, 5));
  };
  std::thread other(send);
  send();
  other.join();
  MPI_Win_unlock_all(on.win());
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) CHECK(*on.data() == 2 * messages * size());
}

/// The window is alive at the end of the target.
void target_ends(MPIX_Am_op op) {
  step = "MPI_Finalize";
  int* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(program::bytes_of<int>(), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  *base = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() != 0) send_all(win, op);
}

/// A process that returns from the creation of an operation may send with it while others are still inside.
void new_operations() {
  step = "new_operations";
  const message_window<int> on(1);
  const int in = 1;
  std::vector<int> out(static_cast<std::size_t>(size()));
  MPI_Win_lock_all(0, on.win());
  for (int round = 0; round < 200; ++round) {
    MPIX_Am_op op = program::make_operation(count_segments);
    for (int to = 0; to < size(); ++to) {
      CHECK(MPIX_Am(&in, 1, MPI_INT, &out[static_cast<std::size_t>(to)], 1, MPI_INT, 1, to, 1, MPI_INT, 0, 1, MPI_INT,
                    1, MPI_INT, op, on.win()) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_flush_all(on.win()) == MPI_SUCCESS);
    CHECK(MPIX_Am_op_free(&op) == MPI_SUCCESS);
  }
  MPI_Win_unlock_all(on.win());
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*on.data() == 200 * size());
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_multiple = program::wants_threads(argc, argv);
  const program::session running(argc, argv, program::session::seconds_max,
                                 is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  program::window_bytes_min = program::bytes_min;
  CHECK(!is_multiple || running.level() == MPI_THREAD_MULTIPLE);
  const MPIX_Am_op op = program::make_operation(count_segments);
  waits(op);
  new_operations();
  target_frees(op);
  if (is_multiple) {
    const char* const thread = std::getenv("AMITY_PROGRESS_THREAD");
    if (thread != nullptr && std::string_view(thread) == "1") target_computes(op);
    senders(op);
  }
  target_ends(op);
}
