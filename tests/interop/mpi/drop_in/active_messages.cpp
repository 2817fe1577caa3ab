/// Active messages on MPI windows, as programs use them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <mpi.h>
#include <mpix_am.h>

#include "program.hpp"

using program::class_of;
using program::next;
using program::rank;
using program::size;
using program::step;

namespace {

// Handlers

/// out[i] = abs(in[i]) + abs(window[i])
void add_absolute(const void* input, int input_count, MPI_Datatype, void* persistent, int persistent_count,
                  MPI_Datatype, void* output, int output_count, MPI_Datatype, int segments) {
  const auto* const in = static_cast<const int*>(input);
  const auto* const window = static_cast<const int*>(persistent);
  auto* const out = static_cast<int*>(output);
  CHECK(input_count == output_count && segments >= 1);
  CHECK(reinterpret_cast<std::uintptr_t>(input) % alignof(int) == 0);
  for (int i = 0; i < segments * input_count; ++i) out[i] = std::abs(in[i]) + std::abs(window[i % persistent_count]);
}

void count_segments(const void*, int, MPI_Datatype, void* persistent, int, MPI_Datatype, void*, int, MPI_Datatype,
                    int segments) {
  *static_cast<long*>(persistent) += segments;
}

void ignore(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, int[]) {}

void block(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, void*, int, MPI_Datatype, int) {
  CHECK(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS);
}

// A window

class memory {
 public:
  memory(int flavor, MPI_Info info = MPI_INFO_NULL) : values_(16) {
    for (int i = 0; i < 16; ++i) values_[static_cast<std::size_t>(i)] = -i - rank();
    const MPI_Aint bytes = program::bytes_of<int>(16);
    if (flavor == MPI_WIN_FLAVOR_CREATE) {
      MPI_Win_create(values_.data(), 64, sizeof(int), info, MPI_COMM_WORLD, &win_);
    } else if (flavor == MPI_WIN_FLAVOR_DYNAMIC) {
      MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win_);
      MPI_Win_attach(win_, values_.data(), 64);
    } else {
      int* base = nullptr;
      flavor == MPI_WIN_FLAVOR_SHARED ? MPI_Win_allocate_shared(bytes, sizeof(int), info, MPI_COMM_WORLD, &base, &win_)
                                      : MPI_Win_allocate(bytes, sizeof(int), info, MPI_COMM_WORLD, &base, &win_);
      std::copy(values_.begin(), values_.end(), base);
    }
    places_.assign(static_cast<std::size_t>(size()), 0);
    if (flavor == MPI_WIN_FLAVOR_DYNAMIC) {
      MPI_Aint own = 0;
      MPI_Get_address(values_.data(), &own);
      MPI_Allgather(&own, 1, MPI_AINT, places_.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    }
    MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~memory() { MPI_Win_free(&win_); }
  MPI_Win win() const { return win_; }
  MPI_Aint place(int of) const { return places_[static_cast<std::size_t>(of)]; }

 private:
  std::vector<int> values_;
  std::vector<MPI_Aint> places_;
  MPI_Win win_ = MPI_WIN_NULL;
};

/// 5 integers in and out for each segment.
int send(const memory& to, int target, const std::vector<int>& in, std::vector<int>& out, MPIX_Am_op op) {
  return MPIX_Am(in.data(), 5, MPI_INT, out.data(), 5, MPI_INT, static_cast<int>(in.size() / 5), target, 5, MPI_INT,
                 to.place(target), 5, MPI_INT, 5, MPI_INT, op, to.win());
}

std::vector<int> numbers(std::size_t segments) {
  std::vector<int> in(5 * segments);
  std::iota(in.begin(), in.end(), -static_cast<int>(segments) + rank());
  return in;
}

bool are_sums(const std::vector<int>& in, const std::vector<int>& out, int target) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (out[i] != std::abs(in[i]) + static_cast<int>(i % 5) + target) return false;
  }
  return true;
}

void each_flavor_and_epoch(MPIX_Am_op op) {
  std::vector<int> flavors{MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC};
  for (const int flavor : flavors) {
    const memory to(flavor);
    std::vector<char> buffer(1000);
    CHECK(MPIX_Am_win_buffer_attach(buffer.data(), 1000, to.win()) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::vector<int> in = numbers(300);
    std::vector<int> out(in.size());
    const auto check = [&] {
      CHECK(are_sums(in, out, next()));
      std::fill(out.begin(), out.end(), 0);
    };
    MPI_Win_fence(MPI_MODE_NOPRECEDE, to.win());
    CHECK(send(to, next(), in, out, op) == MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, to.win());
    check();
    for (const int kind : {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED}) {
      MPI_Win_lock(kind, next(), 0, to.win());
      CHECK(send(to, next(), in, out, op) == MPI_SUCCESS);
      CHECK(MPI_Win_unlock(next(), to.win()) == MPI_SUCCESS);
      check();
    }
    MPI_Win_lock_all(0, to.win());
    CHECK(send(to, next(), in, out, op) == MPI_SUCCESS);
    MPI_Win_flush_local(next(), to.win());
    check();
    CHECK(send(to, MPI_PROC_NULL == next() ? 0 : next(), in, out, op) == MPI_SUCCESS);
    MPI_Win_flush_all(to.win());
    check();
    MPI_Win_unlock_all(to.win());
    MPI_Group target = program::group_of({next()}), origin = program::group_of({program::previous()});
    MPI_Win_post(origin, 0, to.win());
    MPI_Win_start(target, 0, to.win());
    CHECK(send(to, next(), in, out, op) == MPI_SUCCESS);
    MPI_Win_complete(to.win());
    check();
    MPI_Win_wait(to.win());
    for (MPI_Group* const each : {&target, &origin}) MPI_Group_free(each);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPIX_Am_win_buffer_detach(buffer.data(), to.win()) == MPI_SUCCESS);
  }
}

void hints(MPIX_Am_op op) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (int each = 0; each < size(); ++each) MPI_Info_set(info, ("am_user_buf_" + std::to_string(each)).c_str(), "4000");
  {
    const memory to(MPI_WIN_FLAVOR_ALLOCATE, info);
    const std::vector<int> in = numbers(1000);
    std::vector<int> out(in.size());
    MPI_Win_lock_all(0, to.win());
    CHECK(send(to, next(), in, out, op) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_flush(next(), to.win())) == MPIX_ERR_AM_HINT);
    MPI_Win_unlock_all(to.win());
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<char> buffer(4000 * static_cast<std::size_t>(size()));
    MPIX_Am_win_buffer_attach(buffer.data(), static_cast<MPI_Aint>(buffer.size()), to.win());
    CHECK(class_of(MPIX_Am_win_buffer_detach(buffer.data(), to.win())) == MPIX_ERR_AM_HINT);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, to.win());
    CHECK(send(to, next(), in, out, op) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(next(), to.win()) == MPI_SUCCESS);
    CHECK(are_sums(in, out, next()));
    MPIX_Am_counters counters{};
    MPIX_Am_win_get_counters(to.win(), next(), &counters);
    CHECK(counters.handshakes == 0 && counters.queries == 0);
    MPI_Win_unlock_all(to.win());
    MPI_Barrier(MPI_COMM_WORLD);
    // What is guaranteed stays attached until the end of the window. More may be detached.
    std::vector<char> more(100);
    CHECK(MPIX_Am_win_buffer_attach(more.data(), 100, to.win()) == MPI_SUCCESS);
    CHECK(class_of(MPIX_Am_win_buffer_detach(buffer.data(), to.win())) == MPIX_ERR_AM_HINT);
    CHECK(MPIX_Am_win_buffer_detach(more.data(), to.win()) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Info_free(&info);
}

void errors(MPIX_Am_op op, MPIX_Am_op vector, MPIX_Am_op blocking) {
  const memory to(MPI_WIN_FLAVOR_ALLOCATE);
  const std::vector<int> in = numbers(1);
  std::vector<int> out(5), counts(1);
  const auto code = [&](int input, int segments, int target, int there, MPI_Aint place, MPIX_Am_op what) {
    return class_of(MPIX_Am(in.data(), input, MPI_INT, out.data(), 5, MPI_INT, segments, target, there, MPI_INT, place,
                            5, MPI_INT, 5, MPI_INT, what, to.win()));
  };
  CHECK(code(5, 1, next(), 5, 0, op) == MPI_ERR_RMA_SYNC);
  MPI_Win_lock_all(0, to.win());
  CHECK(code(5, 1, size(), 5, 0, op) == MPI_ERR_RANK);
  CHECK(code(5, 1, MPI_PROC_NULL, 5, 0, op) == MPI_SUCCESS);
  CHECK(code(-1, 1, next(), 5, 0, op) == MPI_ERR_COUNT);
  CHECK(code(5, -1, next(), 5, 0, op) == MPI_ERR_COUNT);
  CHECK(code(5, 1, next(), 4, 0, op) == MPI_ERR_TYPE);
  CHECK(code(5, 1, next(), 5, 1 << 20, op) == MPI_ERR_RMA_RANGE);
  CHECK(code(5, 1, next(), 5, -1, op) == MPI_ERR_DISP);
  CHECK(code(5, 1, next(), 5, 0, MPIX_AM_OP_NULL) == MPI_ERR_OP);
  CHECK(code(5, 1, next(), 5, 0, vector) == MPI_ERR_OP);
  CHECK(code(5, 0, next(), 5, 0, op) == MPI_SUCCESS);
  CHECK(class_of(MPIX_Amv(in.data(), 5, MPI_INT, out.data(), 5, MPI_INT, counts.data(), 1, next(), 5, MPI_INT, 0, 1,
                          MPI_INT, 5, MPI_INT, op, to.win())) == MPI_ERR_OP);
  CHECK(code(5, 1, next(), 5, 0, blocking) == MPI_SUCCESS);
  CHECK(class_of(MPI_Win_flush(next(), to.win())) == MPIX_ERR_AM_HANDLER);
  CHECK(code(5, 1, next(), 5, 0, op) == MPI_SUCCESS);
  CHECK(MPI_Win_flush(next(), to.win()) == MPI_SUCCESS);
  CHECK(are_sums(in, out, next()));
  MPI_Win_unlock_all(to.win());

  std::vector<char> buffer(100);
  CHECK(class_of(MPIX_Am_win_buffer_detach(buffer.data(), to.win())) == MPI_ERR_RMA_ATTACH);
  CHECK(class_of(MPIX_Am_win_buffer_attach(buffer.data(), -1, to.win())) == MPI_ERR_SIZE);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Null pointers in place of data and of results. Those that nothing is read from or written to are legal.
void null_pointers(MPIX_Am_op op, MPIX_Am_op vector) {
  const memory to(MPI_WIN_FLAVOR_ALLOCATE);
  const std::vector<int> in = numbers(1);
  std::vector<int> out(5);
  int count = -1;
  MPI_Count count_c = -1;
  MPI_Win_lock_all(0, to.win());
  const auto plain = [&](const int* input, int inputs, int* output, int outputs, int segments = 1) {
    return class_of(MPIX_Am(input, inputs, MPI_INT, output, outputs, MPI_INT, segments, next(), inputs, MPI_INT, 0, 5,
                            MPI_INT, outputs, MPI_INT, op, to.win()));
  };
  const auto with_counts = [&](const int* input, int* output, int* counts, int segments) {
    return class_of(MPIX_Amv(input, 5, MPI_INT, output, 5, MPI_INT, counts, segments, next(), 5, MPI_INT, 0, 5, MPI_INT,
                             5, MPI_INT, vector, to.win()));
  };
  const auto with_large_counts = [&](MPI_Count* counts, MPI_Count segments) {
    return class_of(MPIX_Amv_c(in.data(), 5, MPI_INT, out.data(), 5, MPI_INT, counts, segments, next(), 5, MPI_INT, 0,
                               5, MPI_INT, 5, MPI_INT, vector, to.win()));
  };
  CHECK(plain(nullptr, 5, out.data(), 5) == MPI_ERR_BUFFER);
  CHECK(plain(in.data(), 5, nullptr, 5) == MPI_ERR_BUFFER);
  CHECK(with_counts(nullptr, out.data(), &count, 1) == MPI_ERR_BUFFER);
  CHECK(with_counts(in.data(), nullptr, &count, 1) == MPI_ERR_BUFFER);
  CHECK(with_counts(in.data(), out.data(), nullptr, 1) == MPI_ERR_ARG);
  CHECK(with_large_counts(nullptr, 1) == MPI_ERR_ARG);
  CHECK(plain(nullptr, 0, nullptr, 0) == MPI_SUCCESS);
  CHECK(plain(nullptr, 5, nullptr, 5, 0) == MPI_SUCCESS);
  CHECK(with_counts(in.data(), out.data(), nullptr, 0) == MPI_SUCCESS);
  CHECK(with_large_counts(&count_c, 1) == MPI_SUCCESS);
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  MPI_Aint place = 0;
  MPI_Get_address(in.data(), &place);
  MPI_Type_create_hindexed_block(1, 5, &place, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  CHECK(MPIX_Am(MPI_BOTTOM, 1, absolute, out.data(), 5, MPI_INT, 1, next(), 5, MPI_INT, 0, 5, MPI_INT, 5, MPI_INT, op,
                to.win()) == MPI_SUCCESS);
  MPI_Type_free(&absolute);
  CHECK(MPI_Win_unlock_all(to.win()) == MPI_SUCCESS);
  CHECK(are_sums(in, out, next()) && count_c == 0);
  CHECK(class_of(MPIX_Am_win_get_counters(to.win(), 0, nullptr)) == MPI_ERR_ARG);
  CHECK(class_of(MPIX_Am_win_buffer_attach(nullptr, 8, to.win())) == MPI_ERR_RMA_ATTACH);
  CHECK(class_of(MPIX_Am_win_buffer_attach(out.data(), MPI_Aint{1} << 46, to.win())) == MPI_ERR_RMA_ATTACH);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPIX_Am_op_create(count_segments, MPI_COMM_WORLD, nullptr)) == MPI_ERR_ARG);
  CHECK(class_of(MPIX_Amv_op_create(ignore, MPI_COMM_WORLD, nullptr)) == MPI_ERR_ARG);
  CHECK(class_of(MPIX_Am_op_create(nullptr, MPI_COMM_WORLD, &op)) == MPI_ERR_ARG && op == MPIX_AM_OP_NULL);
  CHECK(class_of(MPIX_Am_op_free(nullptr)) == MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// In a child of this process, which ends with an error: what the call prints.
template <class Call>
std::string last_words(Call call) {
  return program::printed_by([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      call();
      ::_exit(0);
    }
    int status = 0;
    CHECK(child > 0 && ::waitpid(child, &status, 0) == child && status != 0);
  });
}

/// Calls outside of MPI end the process, and name the function.
void outside_of_mpi(std::string_view when) {
  MPIX_Am_op op = MPIX_AM_OP_NULL;
  const auto check = [&](std::string_view call, const std::string& text) {
    const std::string expected = "amity: " + std::string(call) + ": it was called " + std::string(when) + " MPI_";
    if (program::contains(text, expected)) return;
    std::fprintf(stderr, "active_messages: not \"%s\": %s\n", expected.c_str(), text.c_str());
    std::_Exit(1);
  };
  check("MPIX_Am_op_create", last_words([&] { MPIX_Am_op_create(count_segments, MPI_COMM_WORLD, &op); }));
  check("MPIX_Am_op_free", last_words([&] { MPIX_Am_op_free(&op); }));
  check("MPIX_Am", last_words([&] {
          MPIX_Am(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 1, 0, 0, MPI_INT, 0, 0, MPI_INT, 0, MPI_INT, op,
                  MPI_WIN_NULL);
        }));
}

/// An operation of all processes works on windows of some; not the reverse.
void parts_of_communicator(MPIX_Am_op of_all) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  MPIX_Am_op of_half = MPIX_AM_OP_NULL;
  CHECK(MPIX_Am_op_create(count_segments, half, &of_half) == MPI_SUCCESS);
  long* word = nullptr;
  MPI_Win small = MPI_WIN_NULL;
  MPI_Win_allocate(program::bytes_of<long>(), sizeof(long), MPI_INFO_NULL, half, &word, &small);
  *word = 0;
  MPI_Barrier(half);
  const auto send_to_first = [](MPIX_Am_op op, MPI_Win win) {
    return MPIX_Am(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 1, 0, 0, MPI_INT, 0, 1, MPI_LONG, 0, MPI_INT, op, win);
  };
  int ranks = 0, own = 0;
  MPI_Comm_size(half, &ranks);
  MPI_Comm_rank(half, &own);
  MPI_Win_lock_all(0, small);
  CHECK(send_to_first(of_all, small) == MPI_SUCCESS);
  CHECK(send_to_first(of_half, small) == MPI_SUCCESS);
  MPI_Win_unlock_all(small);
  MPI_Barrier(half);
  if (own == 0) CHECK(*word == 2 * ranks);
  MPI_Win_free(&small);
  if (size() > 1) {
    const memory whole(MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_lock_all(0, whole.win());
    CHECK(class_of(send_to_first(of_half, whole.win())) == MPI_ERR_OP);
    MPI_Win_unlock_all(whole.win());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(MPIX_Am_op_free(&of_half) == MPI_SUCCESS);
  MPI_Comm_free(&half);
}

/// The MPI calls no handler on the progress thread if it provides fewer threads, which the first operation tells, once.
void make_operations(MPIX_Am_op& absolute, MPIX_Am_op& count) {
  const char* const setting = std::getenv("AMITY_PROGRESS_THREAD");
  const bool has_thread = setting != nullptr && std::string_view(setting) == "1";
  const auto warns = [](MPIX_Am_user_function* handler, MPIX_Am_op& op) {
    const std::string text =
        program::printed_by([&] { CHECK(MPIX_Am_op_create(handler, MPI_COMM_WORLD, &op) == MPI_SUCCESS); });
    return program::contains(text, "AMITY_PROGRESS_THREAD=1 has no effect on active messages") &&
           program::contains(text, "call MPI_Init_thread with MPI_THREAD_MULTIPLE");
  };
  CHECK(warns(add_absolute, absolute) == (has_thread && rank() == 0));
  CHECK(!warns(count_segments, count));
}

void send_messages(int argc, char** argv) {
  const program::session running(argc, argv);
  program::window_bytes_min = program::bytes_min;
  MPIX_Am_op absolute, count, vector, blocking;
  make_operations(absolute, count);
  CHECK(MPIX_Amv_op_create(ignore, MPI_COMM_WORLD, &vector) == MPI_SUCCESS);
  CHECK(MPIX_Am_op_create(block, MPI_COMM_WORLD, &blocking) == MPI_SUCCESS);
  step = "each flavor and epoch";
  each_flavor_and_epoch(absolute);
  step = "hints";
  hints(absolute);
  step = "parts of the communicator";
  parts_of_communicator(count);
  step = "errors";
  errors(absolute, vector, blocking);
  step = "null pointers";
  null_pointers(absolute, vector);
}

}  // namespace

int main(int argc, char** argv) {
  outside_of_mpi("before");
  send_messages(argc, argv);
  outside_of_mpi("after");
}
