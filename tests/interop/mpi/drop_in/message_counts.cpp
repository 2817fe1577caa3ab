/// Active messages with large counts, and with none.

#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>
#include <mpix_am.h>

#include "message_window.hpp"
#include "program.hpp"

using program::class_of;
using program::message_window;
using program::next;
using program::step;

namespace {

/// What handlers of a process have been given. Handlers have no other way to return it.
struct calls {
  MPI_Count input_count = 0;
  MPI_Count persistent_count = 0;
  MPI_Count output_count = 0;
  MPI_Count segments = 0;
  bool operator==(const calls&) const = default;
};

template <class Count>
void note(const void*, Count input_count, MPI_Datatype, void* persistent, Count persistent_count, MPI_Datatype, void*,
          Count output_count, MPI_Datatype, Count segments) {
  calls& seen = *static_cast<calls*>(persistent);
  seen = {input_count, persistent_count, output_count, seen.segments + segments};
}

/// Each segment generates as many elements as its input says: of int, or of a type without data.
template <class Count>
void repeat(const void* input, Count, MPI_Datatype, void*, Count, MPI_Datatype, void* output, Count output_count,
            MPI_Datatype output_type, Count segments, Count counts[]) {
  const auto* const in = static_cast<const std::int64_t*>(input);
  auto* const out = static_cast<int*>(output);
  int element_bytes = -1;
  MPI_Type_size(output_type, &element_bytes);
  for (Count i = 0; i < segments; ++i) {
    CHECK(counts[i] == 0);
    counts[i] = static_cast<Count>(in[i]);
    if (element_bytes == 0) continue;
    for (Count j = 0; j < counts[i] && j < output_count; ++j) out[i * output_count + j] = static_cast<int>(in[i]);
  }
}

/// Adds the bytes of the input, and checks them.
void add_bytes(const void* input, int input_count, MPI_Datatype, void* persistent, int, MPI_Datatype, void*, int,
               MPI_Datatype, int segments) {
  const auto* const bytes = static_cast<const unsigned char*>(input);
  const std::size_t count = static_cast<std::size_t>(input_count) * static_cast<std::size_t>(segments);
  for (std::size_t i = 0; i < count; i += 4095) CHECK(bytes[i] == static_cast<unsigned char>(i % (1 << 20)));
  *static_cast<std::uint64_t*>(persistent) += count;
}

struct operations {
  MPIX_Am_op plain = program::make_operation(note<int>);
  MPIX_Am_op plain_c = MPIX_AM_OP_NULL;
  MPIX_Am_op vector = program::make_vector_operation(repeat<int>);
  MPIX_Am_op vector_c = MPIX_AM_OP_NULL;
  MPIX_Am_op add = program::make_operation(add_bytes);
  operations() {
    CHECK(MPIX_Am_op_create_c(note<MPI_Count>, MPI_COMM_WORLD, &plain_c) == MPI_SUCCESS);
    CHECK(MPIX_Amv_op_create_c(repeat<MPI_Count>, MPI_COMM_WORLD, &vector_c) == MPI_SUCCESS);
  }
};

constexpr MPI_Count beyond_int = MPI_Count{INT_MAX} + 6;

/// A type without data, so that large counts need no memory.
MPI_Datatype make_empty_type() {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &made);
  MPI_Type_commit(&made);
  return made;
}

/// All counts of elements are `count`, except the one element of the persistent buffer.
int send_empty(MPI_Win win, MPI_Datatype type, MPIX_Am_op op, MPI_Count count, MPI_Count segments, int target) {
  return MPIX_Am_c(nullptr, count, type, nullptr, count, type, segments, target, count, type, 0, sizeof(calls),
                   MPI_BYTE, count, type, op, win);
}

void large_counts(const operations& all) {
  step = "large counts";
  const message_window<calls> on(1);
  MPI_Datatype empty = make_empty_type();
  MPI_Win_lock_all(0, on.win());
  const auto arrives = [&](MPIX_Am_op op, MPI_Count count, MPI_Count segments) {
    CHECK(send_empty(on.win(), empty, op, count, segments, next()) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
    calls seen;
    MPI_Get(&seen, sizeof seen, MPI_BYTE, next(), 0, sizeof seen, MPI_BYTE, on.win());
    const calls none;
    MPI_Win_flush(next(), on.win());
    MPI_Put(&none, sizeof none, MPI_BYTE, next(), 0, sizeof none, MPI_BYTE, on.win());
    MPI_Win_flush(next(), on.win());
    CHECK(seen == (calls{count, sizeof(calls), count, segments}));
  };
  arrives(all.plain_c, beyond_int, 3);
  arrives(all.plain_c, 7, beyond_int);
  arrives(all.plain, 7, beyond_int);  // the product is larger than an int, too
  arrives(all.plain, 1 << 20, 1 << 20);
  arrives(all.plain_c, MPI_Count{1} << 40, 1 << 10);
  CHECK(class_of(send_empty(on.win(), empty, all.plain, beyond_int, 3, next())) == MPI_ERR_COUNT);
  CHECK(class_of(send_empty(on.win(), empty, all.plain_c, -1, 3, next())) == MPI_ERR_COUNT);
  CHECK(class_of(send_empty(on.win(), empty, all.plain_c, MPI_Count{1} << 40, MPI_Count{1} << 40, next())) ==
        MPI_ERR_COUNT);
  CHECK(class_of(send_empty(on.win(), MPI_INT, all.plain_c, MPI_Count{1} << 60, 1, next())) == MPI_ERR_COUNT);
  // The function without large counts
  CHECK(MPIX_Am(nullptr, 1 << 16, empty, nullptr, 0, MPI_INT, 1 << 16, next(), 1 << 16, empty, 0, sizeof(calls),
                MPI_BYTE, 0, MPI_INT, all.plain_c, on.win()) == MPI_SUCCESS);
  MPI_Win_unlock_all(on.win());
  MPI_Type_free(&empty);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*on.data() == (calls{1 << 16, sizeof(calls), 0, 1 << 16}));
}

/// Each form of a call with each form of an operation.
void vector_forms(const operations& all) {
  step = "forms of vector messages";
  constexpr int segments = 700, most = 9;
  const message_window<int> on(1);
  const program::attached_buffer buffer(8192, on.win());
  std::vector<std::int64_t> in(segments);
  for (int i = 0; i < segments; ++i) in[static_cast<std::size_t>(i)] = i % (most + 1);
  MPI_Datatype apart = MPI_DATATYPE_NULL;  // output with gaps
  MPI_Type_create_resized(MPI_INT, 0, 8, &apart);
  MPI_Type_commit(&apart);
  MPI_Win_lock_all(0, on.win());
  for (const MPIX_Am_op op : {all.vector, all.vector_c}) {
    for (const MPI_Datatype type : {MPI_INT, apart}) {
      const int stride = type == apart ? 2 : 1;
      std::vector<int> out(std::size_t{segments} * most * 2, -7), counts(segments, -1);
      std::vector<MPI_Count> counts_c(segments + 1, -1);
      const auto check = [&](auto& found) {
        for (int i = 0; i < segments; ++i) {
          CHECK(found[static_cast<std::size_t>(i)] == in[static_cast<std::size_t>(i)]);
          for (int j = 0; j < i % (most + 1); ++j)
            CHECK(out[static_cast<std::size_t>((i * most + j) * stride)] == i % (most + 1));
        }
        out.assign(out.size(), -7);
      };
      CHECK(MPIX_Amv(in.data(), 1, MPI_INT64_T, out.data(), most, type, counts.data(), segments, next(), 1, MPI_INT64_T,
                     0, 1, MPI_INT, most, MPI_INT, op, on.win()) == MPI_SUCCESS);
      CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
      check(counts);
      CHECK(MPIX_Amv_c(in.data(), 1, MPI_INT64_T, out.data(), most, type, counts_c.data(), segments, next(), 1,
                       MPI_INT64_T, 0, 1, MPI_INT, most, MPI_INT, op, on.win()) == MPI_SUCCESS);
      CHECK(MPI_Win_flush_local(next(), on.win()) == MPI_SUCCESS);
      check(counts_c);
      CHECK(counts_c[segments] == -1);
    }
  }
  // Wrong counts
  for (const std::int64_t wrong : {std::int64_t{most} + 1, std::int64_t{-1}, std::int64_t{1} << 32,
                                   (std::int64_t{1} << 32) + 1, INT64_MAX, INT64_MIN}) {
    std::vector<int> out(most);
    MPI_Count count = 5;
    CHECK(MPIX_Amv_c(&wrong, 1, MPI_INT64_T, out.data(), most, MPI_INT, &count, 1, next(), 1, MPI_INT64_T, 0, 1,
                     MPI_INT, most, MPI_INT, all.vector_c, on.win()) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_flush(next(), on.win())) == MPIX_ERR_AM_COUNT);
    CHECK(count == 5);  // as the output
  }
  std::vector<int> out(most);
  MPI_Count count = 5;
  constexpr MPI_Count too_many = MPI_Count{UINT32_MAX};
  CHECK(class_of(MPIX_Amv_c(in.data(), 1, MPI_INT64_T, out.data(), too_many, MPI_BYTE, &count, 1, next(), 1,
                            MPI_INT64_T, 0, 1, MPI_INT, too_many, MPI_BYTE, all.vector_c, on.win())) == MPI_ERR_COUNT);
  CHECK(class_of(MPIX_Amv_c(in.data(), 1, MPI_INT64_T, out.data(), beyond_int, MPI_BYTE, &count, 1, next(), 1,
                            MPI_INT64_T, 0, 1, MPI_INT, beyond_int, MPI_BYTE, all.vector, on.win())) == MPI_ERR_COUNT);
  MPI_Win_unlock_all(on.win());
  MPI_Type_free(&apart);
}

void nothing(const operations& all) {
  step = "nothing";
  const message_window<calls> on(1);
  MPI_Win_lock_all(0, on.win());
  int out = -1, counts = -2;
  MPI_Count counts_c = -3;
  // No segments: no handler is called.
  CHECK(MPIX_Am(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, 0, next(), 1, MPI_INT, 0, 1, MPI_INT, 1, MPI_INT, all.plain,
                on.win()) == MPI_SUCCESS);
  CHECK(send_empty(on.win(), MPI_INT, all.plain_c, 1, 0, next()) == MPI_SUCCESS);
  CHECK(MPIX_Amv(nullptr, 1, MPI_INT, &out, 1, MPI_INT, &counts, 0, next(), 1, MPI_INT, 0, 1, MPI_INT, 1, MPI_INT,
                 all.vector, on.win()) == MPI_SUCCESS);
  CHECK(MPIX_Amv_c(nullptr, 1, MPI_INT, &out, 1, MPI_INT, &counts_c, 0, next(), 1, MPI_INT, 0, 1, MPI_INT, 1, MPI_INT,
                   all.vector_c, on.win()) == MPI_SUCCESS);
  // No process
  CHECK(MPIX_Am(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, 1, MPI_PROC_NULL, 1, MPI_INT, 0, 1, MPI_INT, 1, MPI_INT,
                all.plain, on.win()) == MPI_SUCCESS);
  CHECK(send_empty(on.win(), MPI_INT, all.plain_c, beyond_int, beyond_int, MPI_PROC_NULL) == MPI_SUCCESS);
  CHECK(MPIX_Amv(nullptr, 1, MPI_INT, &out, 1, MPI_INT, &counts, 1, MPI_PROC_NULL, 1, MPI_INT, 0, 1, MPI_INT, 1,
                 MPI_INT, all.vector, on.win()) == MPI_SUCCESS);
  CHECK(MPIX_Amv_c(nullptr, 1, MPI_INT, &out, 1, MPI_INT, &counts_c, 1, MPI_PROC_NULL, 1, MPI_INT, 0, 1, MPI_INT, 1,
                   MPI_INT, all.vector_c, on.win()) == MPI_SUCCESS);
  CHECK(MPI_Win_flush_all(on.win()) == MPI_SUCCESS);
  CHECK(out == -1 && counts == -2 && counts_c == -3);
  // No window
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(program::class_of(send_empty(MPI_WIN_NULL, MPI_INT, all.plain_c, 1, 1, next())) == MPI_ERR_WIN);
  CHECK(program::class_of(MPIX_Am_win_buffer_attach(&out, 1, MPI_WIN_NULL)) == MPI_ERR_WIN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*on.data() == calls());
  MPI_Barrier(MPI_COMM_WORLD);
  // Without elements, there is a call.
  CHECK(MPIX_Am(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 5, next(), 0, MPI_INT, 0, sizeof(calls), MPI_BYTE, 0, MPI_INT,
                all.plain, on.win()) == MPI_SUCCESS);
  MPI_Win_unlock_all(on.win());
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*on.data() == (calls{0, sizeof(calls), 0, 5}));
}

/// Vector messages whose segments have at most 0 elements of output: the handler runs, and can only set counts of 0.
void no_output(const operations& all) {
  step = "vector messages without output";
  constexpr int segments = 700;
  const message_window<int> on(1);
  const program::attached_buffer buffer(8192, on.win());
  const std::vector<std::int64_t> zeros(segments, 0);
  std::vector<std::int64_t> ones = zeros;
  ones[segments - 1] = 1;
  MPI_Datatype empty = make_empty_type();
  MPI_Win_lock_all(0, on.win());
  for (const MPIX_Am_op op : {all.vector, all.vector_c}) {
    const auto send = [&](const std::vector<std::int64_t>& in, int most, MPI_Datatype type, std::vector<int>& counts) {
      CHECK(MPIX_Amv(in.data(), 1, MPI_INT64_T, nullptr, most, type, counts.data(), segments, next(), 1, MPI_INT64_T, 0,
                     1, MPI_INT, most, type, op, on.win()) == MPI_SUCCESS);
      return class_of(MPI_Win_flush(next(), on.win()));
    };
    for (int round = 0; round < 2; ++round) {
      std::vector<int> counts(segments, -1);
      CHECK(send(zeros, 0, MPI_INT, counts) == MPI_SUCCESS);
      CHECK(counts == std::vector<int>(segments, 0));
      CHECK(send(ones, 0, MPI_INT, counts) == MPIX_ERR_AM_COUNT);
      CHECK(send(zeros, 0, empty, counts) == MPI_SUCCESS);
      // Elements without data are counted.
      CHECK(send(ones, 3, empty, counts) == MPI_SUCCESS);
      CHECK(counts[0] == 0 && counts[segments - 1] == 1);
    }
    std::vector<MPI_Count> counts_c(segments + 1, -1);
    CHECK(MPIX_Amv_c(zeros.data(), 1, MPI_INT64_T, nullptr, 0, MPI_INT, counts_c.data(), segments, next(), 1,
                     MPI_INT64_T, 0, 1, MPI_INT, 0, MPI_INT, op, on.win()) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_local(next(), on.win()) == MPI_SUCCESS);
    CHECK(counts_c[0] == 0 && counts_c[segments - 1] == 0 && counts_c[segments] == -1);
  }
  MPI_Win_unlock_all(on.win());
  MPI_Type_free(&empty);
}

/// All segments of the input are the same memory of the origin.
void more_than_2_gib(const operations& all) {
  step = "more than 2 GiB";
  constexpr int bytes = 1 << 20, segments = 2100;
  const message_window<std::uint64_t> on(1);
  const program::attached_buffer buffer(std::size_t{4} * bytes, on.win());
  if (program::rank() == 0) {
    std::vector<unsigned char> in(bytes);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i);
    MPI_Datatype block = MPI_DATATYPE_NULL, same = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(bytes, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 0, &same);
    MPI_Type_commit(&same);
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, on.win());
    CHECK(MPIX_Am(in.data(), 1, same, nullptr, 0, MPI_INT, segments, next(), bytes, MPI_BYTE, 0, 1, MPI_UINT64_T, 0,
                  MPI_INT, all.add, on.win()) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(next(), on.win()) == MPI_SUCCESS);
    MPI_Type_free(&block);
    MPI_Type_free(&same);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const bool is_target = program::rank() == 1 % program::size();
  CHECK(*on.data() == (is_target ? std::uint64_t{bytes} * segments : 0));
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::window_bytes_min = program::bytes_min;
  const operations all;
  large_counts(all);
  vector_forms(all);
  nothing(all);
  no_output(all);
  more_than_2_gib(all);
}
