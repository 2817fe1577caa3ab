/// Memory that targets attach for active messages: how it is detached, and what is wrong with it.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>
#include <mpix_am.h>

#include "message_window.hpp"
#include "program.hpp"

using program::class_of;
using program::counters_of;
using program::message_window;
using program::next;
using program::rank;
using program::size;
using program::step;

namespace {

// Handlers

/// The output of a segment is its input, plus the number that the persistent buffer has.
void add_number(const void* input, int input_count, MPI_Datatype, void* persistent, int, MPI_Datatype, void* output,
                int, MPI_Datatype, int segments) {
  const auto* const in = static_cast<const int*>(input);
  for (int i = 0; i < segments * input_count; ++i)
    static_cast<int*>(output)[i] = in[i] + *static_cast<const int*>(persistent);
}

/// What a handler must not do, as the input of a segment.
enum wrong : int { waits = -1, synchronizes = -2, sends = -3, frees = -4, throws = -5, puts = -6 };

const char* text_of(wrong how) {
  switch (how) {
    case waits:
      return " has called MPI_Probe; call no function in a handler that may block";
    case synchronizes:
      return " has called MPI_Win_flush_all; make no one-sided calls in a handler";
    case sends:
      return " has called MPIX_Am; make no one-sided calls in a handler";
    case frees:
      return " has called MPI_Win_free; make no one-sided calls in a handler";
    case puts:
      return " has called MPI_Put; make no one-sided calls in a handler";
    default:
      return "a handler";
  }
}

/// Returns numbers from 0 on. The persistent buffer has the window of this process.
void misbehave(const void* input, int input_count, MPI_Datatype, void* persistent, int, MPI_Datatype, void* output, int,
               MPI_Datatype, int segments) {
  const auto* const in = static_cast<const int*>(input);
  MPI_Win win = *static_cast<const MPI_Win*>(persistent);
  for (int i = 0; i < segments * input_count; ++i) {
    static_cast<int*>(output)[i] = in[i];
    if (in[i] == waits) CHECK(MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    if (in[i] == synchronizes) CHECK(MPI_Win_flush_all(win) != MPI_SUCCESS);
    if (in[i] == sends)
      CHECK(MPIX_Am(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 1, 0, 0, MPI_INT, 0, 0, MPI_INT, 0, MPI_INT, 1, win) !=
            MPI_SUCCESS);
    if (in[i] == frees) CHECK(MPI_Win_free(&win) != MPI_SUCCESS);
    if (in[i] == puts) CHECK(MPI_Put(in, 1, MPI_INT, 0, 0, 1, MPI_INT, win) != MPI_SUCCESS);
    if (in[i] == throws) throw std::runtime_error("a handler");
  }
}

/// One integer in and out for each segment, 8 bytes at the target.
int send(MPI_Win win, int target, const std::vector<int>& in, std::vector<int>& out, MPIX_Am_op op, int elements = 1) {
  return MPIX_Am(in.data(), elements, MPI_INT, out.data(), elements, MPI_INT, static_cast<int>(in.size()) / elements,
                 target, elements, MPI_INT, 0, 1, MPI_INT, elements, MPI_INT, op, win);
}

std::vector<int> numbers(int count) {
  std::vector<int> made(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) made[static_cast<std::size_t>(i)] = i + 1000 * rank();
  return made;
}

/// A detach against the promise of the window is an error of the message that needs the buffer.
void broken_promise(MPIX_Am_op op) {
  step = "broken promise";
  if (size() == 1) return;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "am_buf_interleave_am_detach", "false");
  const message_window<int> on(1, info);
  MPI_Info_free(&info);
  *on.data() = 7;
  std::vector<char> buffer(10'000), other(10'000);
  if (rank() == 1) CHECK(MPIX_Am_win_buffer_attach(buffer.data(), 10'000, on.win()) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  // A segment is larger than the system buffer.
  const std::vector<int> in = numbers(1200);
  std::vector<int> out(in.size());
  if (rank() == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, on.win());
    for (int i = 0; i < 2; ++i) {
      CHECK(send(on.win(), 1, in, out, op, 1200) == MPI_SUCCESS);
      CHECK(MPI_Win_flush(1, on.win()) == MPI_SUCCESS);
    }
    // At most one list of space for the epoch, in spite of the flush
    CHECK(counters_of(on.win(), 1).queries + counters_of(on.win(), 1).handshakes <= 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) {
    CHECK(MPIX_Am_win_buffer_detach(buffer.data(), on.win()) == MPI_SUCCESS);
    CHECK(MPIX_Am_win_buffer_attach(other.data(), 10'000, on.win()) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    CHECK(send(on.win(), 1, in, out, op, 1200) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_unlock(1, on.win())) == MPIX_ERR_AM_DETACHED);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, on.win());  // the window can be used, and the next list is right
    CHECK(send(on.win(), 1, in, out, op, 1200) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(1, on.win()) == MPI_SUCCESS);
    CHECK(out[5] == in[5] + 7);
  }
}

/// Too little for one segment. What was sent before is complete, and the window can be used afterwards.
void too_small(MPIX_Am_op op) {
  step = "buffers that are too small";
  const message_window<int> on(1);
  const std::vector<int> in = numbers(1200);
  std::vector<int> out(in.size(), -1), short_out(1, -1);
  const std::vector<int> short_in{rank()};
  MPI_Win_lock_all(0, on.win());
  const auto fails = [&] {
    CHECK(send(on.win(), next(), short_in, short_out, op) == MPI_SUCCESS);
    CHECK(send(on.win(), next(), in, out, op, 1200) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_flush(next(), on.win())) == MPIX_ERR_AM_BUFFER);
    CHECK(short_out[0] == rank());
    short_out[0] = -1;
    CHECK(send(on.win(), next(), short_in, short_out, op) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
    CHECK(short_out[0] == rank());
  };
  fails();
  MPI_Barrier(MPI_COMM_WORLD);
  {
    const program::attached_buffer buffer(4799, on.win());  // neither input nor output fits
    fails();
  }
  {
    const program::attached_buffer input(4800, on.win());  // only one of them
    fails();
    MPI_Barrier(MPI_COMM_WORLD);
    const program::attached_buffer output(4800, on.win());
    CHECK(send(on.win(), next(), in, out, op, 1200) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
    CHECK(out == in);
  }
  MPI_Win_unlock_all(on.win());
}

/// The message of a handler that fails is an error, the epoch ends, and the window can be used.
void failing_handler(MPIX_Am_op op) {
  step = "a handler that fails";
  const message_window<MPI_Win> on(1);
  *on.data() = on.win();
  const auto send_there = [&](const std::vector<int>& in, std::vector<int>& out) {
    CHECK(MPIX_Am(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, static_cast<int>(in.size()), next(), 1, MPI_INT, 0,
                  sizeof(MPI_Win), MPI_BYTE, 1, MPI_INT, op, on.win()) == MPI_SUCCESS);
  };
  for (const wrong how : {waits, synchronizes, sends, frees, throws, puts}) {
    std::vector<int> in = numbers(10), out(in.size());
    MPI_Win_fence(0, on.win());
    in[3] = how;
    send_there(in, out);
    const int code = MPI_Win_fence(0, on.win());
    CHECK(class_of(code) == MPIX_ERR_AM_HANDLER);
    const std::string text = program::text_of(code);
    CHECK(program::contains(text, text_of(how)));
    const bool is_named = program::contains(text, "the handler at ") && program::contains(text, "message_buffers");
    CHECK(is_named || how == throws);
    in[3] = 1;
    send_there(in, out);
    CHECK(MPI_Win_fence(0, on.win()) == MPI_SUCCESS);
    CHECK(out == in);
  }
}

/// Operations have the same numbers on all processes, and are freed when their messages have been carried out.
void numbers_of_operations() {
  step = "numbers of operations";
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  std::vector<MPIX_Am_op> of_half(static_cast<std::size_t>(1 + rank() % 2));
  for (MPIX_Am_op& each : of_half) CHECK(MPIX_Am_op_create(add_number, half, &each) == MPI_SUCCESS);
  MPIX_Am_op of_all = program::make_operation(add_number);
  std::vector<int> all(static_cast<std::size_t>(size()));
  MPI_Allgather(&of_all, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  CHECK(std::count(all.begin(), all.end(), of_all) == size());
  for (MPIX_Am_op& each : of_half) {
    CHECK(each != of_all);
    CHECK(MPIX_Am_op_free(&each) == MPI_SUCCESS);
  }
  MPI_Comm_free(&half);

  const message_window<int> on(1);
  const program::attached_buffer buffer(1000, on.win());
  const std::vector<int> in = numbers(5000);
  std::vector<int> out(in.size());
  MPI_Win_lock_all(0, on.win());
  CHECK(send(on.win(), next(), in, out, of_all) == MPI_SUCCESS);
  const MPIX_Am_op copy = of_all;
  CHECK(MPIX_Am_op_free(&of_all) == MPI_SUCCESS);
  CHECK(of_all == MPIX_AM_OP_NULL);
  CHECK(class_of(send(on.win(), next(), in, out, copy)) == MPI_ERR_OP);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
  CHECK(out == in);
  MPI_Win_unlock_all(on.win());
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::window_bytes_min = program::bytes_min;
  const MPIX_Am_op add = program::make_operation(add_number), fails = program::make_operation(misbehave);
  broken_promise(add);
  too_small(add);
  failing_handler(fails);
  numbers_of_operations();
}
