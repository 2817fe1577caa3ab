// Wrong arguments of one-sided calls, and calls in the wrong order: the error handler of the window gets the class that
// the standard has for each. (MPI-3.1, section 11.6.) With the argument `no_shared`, processes share no memory.

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using program::class_of;
using program::rank;
using program::size;
using program::step;

bool wrong = false;

// Reports all that is wrong, not the first alone.
void expect_class(int code, int expected, const char* call, int line) {
  const int found = class_of(code);
  if (found == expected) return;
  std::fprintf(stderr, "arguments.cpp:%d: rank %d, %s: class %d and not %d: %s\n", line, rank(), step.load(), found,
               expected, call);
  wrong = true;
}
#define EXPECT_CLASS(call, expected) expect_class(call, expected, #call, __LINE__)

struct ints : program::filled_window<int> {
  ints() : filled_window("allocated", 4) { MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN); }
};

void order_of_calls() {
  step = "calls outside of an epoch";
  ints all;
  int value = 0, other = 0, flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Get_accumulate(&value, 1, MPI_INT, &other, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, all.win),
               MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Fetch_and_op(&value, &other, MPI_INT, 0, 0, MPI_SUM, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Compare_and_swap(&value, &value, &other, MPI_INT, 0, 0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, all.win, &request), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_complete(all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_wait(all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_test(all.win, &flag), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_unlock(0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_unlock_all(all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_flush(0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_flush_all(all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_flush_local(0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_flush_local_all(all.win), MPI_ERR_RMA_SYNC);

  step = "calls in an epoch of another kind";
  MPI_Group self = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_SELF, &self);
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, all.win);
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_lock_all(0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_start(self, 0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_fence(0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_unlock_all(all.win), MPI_ERR_RMA_SYNC);
  if (size() > 1) {
    const int stranger = (rank() + 1) % size();
    EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, stranger, 0, 1, MPI_INT, all.win), MPI_ERR_RMA_SYNC);
    EXPECT_CLASS(MPI_Win_unlock(stranger, all.win), MPI_ERR_RMA_SYNC);
    EXPECT_CLASS(MPI_Win_flush(stranger, all.win), MPI_ERR_RMA_SYNC);
  }
  MPI_Win copy = all.win;
  EXPECT_CLASS(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_unlock(rank(), all.win), MPI_SUCCESS);

  MPI_Win_post(self, 0, all.win);
  EXPECT_CLASS(MPI_Win_post(self, 0, all.win), MPI_ERR_RMA_SYNC);
  MPI_Win_start(self, 0, all.win);
  EXPECT_CLASS(MPI_Win_start(self, 0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Rput(&value, 1, MPI_INT, rank(), 0, 1, MPI_INT, all.win, &request), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_flush(rank(), all.win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_complete(all.win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_wait(all.win), MPI_SUCCESS);
  MPI_Group_free(&self);
}

void arguments_of_operations() {
  step = "arguments of operations";
  ints all;
  int value = 0, other = 0;
  const double real = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, all.win);
  for (const int target : {size(), size() + 7, -20}) {
    EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, all.win), MPI_ERR_RANK);
    EXPECT_CLASS(MPI_Get(&value, 1, MPI_INT, target, 0, 1, MPI_INT, all.win), MPI_ERR_RANK);
    EXPECT_CLASS(MPI_Fetch_and_op(&value, &other, MPI_INT, target, 0, MPI_SUM, all.win), MPI_ERR_RANK);
    EXPECT_CLASS(MPI_Compare_and_swap(&value, &value, &other, MPI_INT, target, 0, all.win), MPI_ERR_RANK);
    EXPECT_CLASS(MPI_Rput(&value, 1, MPI_INT, target, 0, 1, MPI_INT, all.win, &request), MPI_ERR_RANK);
    EXPECT_CLASS(MPI_Win_flush(target, all.win), MPI_ERR_RANK);
    EXPECT_CLASS(MPI_Win_flush_local(target, all.win), MPI_ERR_RANK);
  }
  EXPECT_CLASS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, all.win), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, all.win), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Get(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, all.win), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Accumulate(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, all.win), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Get_accumulate(&value, 1, MPI_INT, &other, -1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, all.win),
               MPI_ERR_COUNT);

  EXPECT_CLASS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, all.win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, all.win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Get(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, all.win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Fetch_and_op(&value, &other, MPI_DATATYPE_NULL, 0, 0, MPI_SUM, all.win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Compare_and_swap(&real, &real, &other, MPI_DOUBLE, 0, 0, all.win), MPI_ERR_TYPE);
  MPI_Datatype two = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &two);
  MPI_Type_commit(&two);
  EXPECT_CLASS(MPI_Fetch_and_op(&value, &other, two, 0, 0, MPI_SUM, all.win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Compare_and_swap(&value, &value, &other, two, 0, 0, all.win), MPI_ERR_TYPE);
  MPI_Type_free(&two);

  MPI_Op made = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &made);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, made, all.win), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Fetch_and_op(&value, &other, MPI_INT, 0, 0, made, all.win), MPI_ERR_OP);
  MPI_Op_free(&made);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, all.win), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BOR, all.win), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MAXLOC, all.win), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, all.win), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Accumulate(&value, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, all.win), MPI_SUCCESS);  // no element

  for (int target = 0; target < size(); ++target) {
    EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, target, -1, 1, MPI_INT, all.win), MPI_ERR_DISP);
    EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, target, 4, 1, MPI_INT, all.win), MPI_ERR_RMA_RANGE);
    EXPECT_CLASS(MPI_Get(&value, 1, MPI_INT, target, MPI_Aint{1} << 40, 1, MPI_INT, all.win), MPI_ERR_RMA_RANGE);
    EXPECT_CLASS(MPI_Fetch_and_op(&value, &other, MPI_INT, target, 5, MPI_SUM, all.win), MPI_ERR_RMA_RANGE);
    EXPECT_CLASS(MPI_Compare_and_swap(&value, &value, &other, MPI_INT, target, 4, all.win), MPI_ERR_RMA_RANGE);
  }
  // What was refused has left no trace.
  EXPECT_CLASS(MPI_Win_unlock_all(all.win), MPI_SUCCESS);
}

/// Null pointers in place of buffers and of results. Those that nothing is read from or written to are legal.
void null_pointers() {
  step = "null pointers";
  ints all;
  int value = 0, other = 0, unit = 0;
  MPI_Aint bytes = 0;
  void* base = nullptr;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, all.win);
  for (int to = 0; to < size(); ++to) {
    EXPECT_CLASS(MPI_Put(nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, all.win), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Put(nullptr, 4, MPI_BYTE, to, 0, 1, MPI_INT, all.win), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Get(nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, all.win), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Accumulate(nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Get_accumulate(nullptr, 1, MPI_INT, &other, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win),
                 MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Get_accumulate(&value, 1, MPI_INT, nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win),
                 MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Rput(nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, all.win, &request), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Rget(nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, all.win, &request), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Raccumulate(nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win, &request), MPI_ERR_BUFFER);
    EXPECT_CLASS(
        MPI_Rget_accumulate(&value, 1, MPI_INT, nullptr, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win, &request),
        MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Fetch_and_op(nullptr, &other, MPI_INT, to, 0, MPI_SUM, all.win), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Fetch_and_op(&value, nullptr, MPI_INT, to, 0, MPI_SUM, all.win), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Compare_and_swap(nullptr, &value, &other, MPI_INT, to, 0, all.win), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Compare_and_swap(&value, nullptr, &other, MPI_INT, to, 0, all.win), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Compare_and_swap(&value, &value, nullptr, MPI_INT, to, 0, all.win), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Rput(&value, 1, MPI_INT, to, 0, 1, MPI_INT, all.win, nullptr), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Rget(&value, 1, MPI_INT, to, 0, 1, MPI_INT, all.win, nullptr), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_Raccumulate(&value, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win, nullptr), MPI_ERR_ARG);
    EXPECT_CLASS(
        MPI_Rget_accumulate(&value, 1, MPI_INT, &other, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, all.win, nullptr),
        MPI_ERR_ARG);

    EXPECT_CLASS(MPI_Put(nullptr, 0, MPI_INT, to, 0, 0, MPI_INT, all.win), MPI_SUCCESS);
    EXPECT_CLASS(MPI_Get(nullptr, 0, MPI_INT, to, 0, 0, MPI_INT, all.win), MPI_SUCCESS);
    EXPECT_CLASS(MPI_Accumulate(nullptr, 0, MPI_INT, to, 0, 0, MPI_INT, MPI_SUM, all.win), MPI_SUCCESS);
    EXPECT_CLASS(MPI_Get_accumulate(nullptr, 1, MPI_INT, &other, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_NO_OP, all.win),
                 MPI_SUCCESS);
    EXPECT_CLASS(MPI_Fetch_and_op(nullptr, &other, MPI_INT, to, 0, MPI_NO_OP, all.win), MPI_SUCCESS);
    MPI_Datatype absolute = MPI_DATATYPE_NULL;
    MPI_Aint place = 0;
    MPI_Get_address(&other, &place);
    MPI_Type_create_hindexed_block(1, 1, &place, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    EXPECT_CLASS(MPI_Get(MPI_BOTTOM, 1, absolute, to, 0, 1, MPI_INT, all.win), MPI_SUCCESS);
    MPI_Type_free(&absolute);
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 3, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    EXPECT_CLASS(MPI_Put(nullptr, 1, blocks, to, 0, 2, MPI_INT, all.win), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Get(nullptr, 1, blocks, to, 0, 2, MPI_INT, all.win), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Accumulate(nullptr, 1, blocks, to, 0, 2, MPI_INT, MPI_SUM, all.win), MPI_ERR_BUFFER);
    MPI_Type_free(&blocks);
  }
  EXPECT_CLASS(MPI_Put(nullptr, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, all.win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_unlock_all(all.win), MPI_SUCCESS);

  EXPECT_CLASS(MPI_Win_test(all.win, nullptr), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_get_attr(all.win, MPI_WIN_SIZE, nullptr, &unit), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_get_attr(all.win, MPI_WIN_SIZE, &base, nullptr), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_get_info(all.win, nullptr), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_shared_query(all.win, 0, nullptr, &unit, &base), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_shared_query(all.win, 0, &bytes, nullptr, &base), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_shared_query(all.win, 0, &bytes, &unit, nullptr), MPI_ERR_ARG);
  MPI_Win made = MPI_WIN_NULL;
  EXPECT_CLASS(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, nullptr, &made), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, nullptr, &made), MPI_ERR_ARG);
  CHECK(MPI_Win_free(nullptr) != MPI_SUCCESS);
  CHECK(MPI_Alloc_mem(8, MPI_INFO_NULL, nullptr) != MPI_SUCCESS);
}

/// An accumulate combines elements of one predefined type. Copies are more liberal, as in each MPI.
void types_of_accumulates() {
  step = "types of accumulates";
  ints all;
  struct row {
    MPI_Datatype origin;
    MPI_Datatype target;
    MPI_Op op;
    int error_class;
  };
  const std::array rows{
      row{MPI_FLOAT, MPI_INT, MPI_SUM, MPI_ERR_ARG},    row{MPI_INT, MPI_FLOAT, MPI_MAX, MPI_ERR_ARG},
      row{MPI_UNSIGNED, MPI_INT, MPI_MIN, MPI_ERR_ARG}, row{MPI_SHORT, MPI_INT, MPI_SUM, MPI_ERR_ARG},
      row{MPI_BYTE, MPI_INT, MPI_BXOR, MPI_ERR_ARG},    row{MPI_INT32_T, MPI_INT, MPI_SUM, MPI_SUCCESS},
      row{MPI_INT, MPI_INT32_T, MPI_BOR, MPI_SUCCESS},  row{MPI_FLOAT, MPI_INT, MPI_REPLACE, MPI_SUCCESS},
      row{MPI_BYTE, MPI_BYTE, MPI_REPLACE, MPI_SUCCESS}};
  const std::array<int, 4> operands{};
  std::array<int, 4> result{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, all.win);
  for (const row& each : rows) {
    int bytes_here = 0, bytes_there = 0;
    MPI_Type_size(each.origin, &bytes_here);
    MPI_Type_size(each.target, &bytes_there);
    const int here = 8 / bytes_here, there = 8 / bytes_there;
    for (int to = 0; to < size(); ++to) {
      EXPECT_CLASS(MPI_Accumulate(operands.data(), here, each.origin, to, 0, there, each.target, each.op, all.win),
                   each.error_class);
      EXPECT_CLASS(MPI_Get_accumulate(operands.data(), there, each.target, result.data(), here, each.origin, to, 0,
                                      there, each.target, each.op, all.win),
                   each.error_class);
      EXPECT_CLASS(
          MPI_Raccumulate(operands.data(), here, each.origin, to, 0, there, each.target, each.op, all.win, &request),
          each.error_class);
      if (each.error_class == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  MPI_Win_unlock_all(all.win);
}

std::string handled_text;
void note_text(MPI_Win*, int* code, ...) { handled_text = program::text_of(*code); }

/// MPI_Error_string has the function, the wrong value and the remedy, and MPI_Error_class the class.
void texts_of_errors() {
  step = "texts of errors";
  ints all;
  int value = 0;
  const auto expect_text = [](int code, int error_class, std::string_view part) {
    CHECK(class_of(code) == error_class);
    const std::string text = program::text_of(code);
    if (program::contains(text, part)) return;
    std::fprintf(stderr, "%s: not in: %s\n", part.data(), text.c_str());
    wrong = true;
  };
  expect_text(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, all.win), MPI_ERR_RMA_SYNC, "amity: MPI_Put (rank ");
  MPI_Win_lock_all(0, all.win);
  expect_text(MPI_Put(&value, -3, MPI_INT, 0, 0, 1, MPI_INT, all.win), MPI_ERR_COUNT,
              "amity: MPI_Put: a count of -3; pass a count of 0 or more");
  expect_text(MPI_Get(nullptr, 2, MPI_INT, 0, 0, 2, MPI_INT, all.win), MPI_ERR_BUFFER,
              "amity: MPI_Get: origin_addr is a null pointer, for 2 elements; pass the address of the data");
  // An error handler of the program gets the same code.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(note_text, &handler);
  MPI_Win_set_errhandler(all.win, handler);
  MPI_Put(&value, 1, MPI_INT, size() + 4, 0, 1, MPI_INT, all.win);
  const std::string rank_text = "amity: MPI_Put: target rank " + std::to_string(size() + 4) + "; pass a rank from 0";
  CHECK(program::contains(handled_text, rank_text));
  MPI_Win_set_errhandler(all.win, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  // Codes are used again.
  std::set<int> codes;
  for (int i = 1; i <= 2000; ++i) {
    const int code = MPI_Put(&value, -i, MPI_INT, 0, 0, 1, MPI_INT, all.win);
    expect_text(code, MPI_ERR_COUNT, "a count of -" + std::to_string(i) + ";");
    CHECK(MPI_Put(&value, -i, MPI_INT, 0, 0, 1, MPI_INT, all.win) == code);
    codes.insert(code);
  }
  CHECK(codes.size() <= 64);
  MPI_Win_unlock_all(all.win);
  MPI_Win made = MPI_WIN_NULL;
  expect_text(MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_SIZE,
              "amity: MPI_Win_create: a size of -1 bytes; pass a size of 0 or more");
}

void arguments_of_synchronization() {
  step = "arguments of synchronization";
  ints all;
  EXPECT_CLASS(MPI_Win_lock(12345, 0, 0, all.win), MPI_ERR_LOCKTYPE);
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, size(), 0, all.win), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Win_unlock(size(), all.win), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 24, all.win), MPI_ERR_ASSERT);
  EXPECT_CLASS(MPI_Win_lock_all(1 << 24, all.win), MPI_ERR_ASSERT);
  EXPECT_CLASS(MPI_Win_fence(1 << 24, all.win), MPI_ERR_ASSERT);
  EXPECT_CLASS(MPI_Win_post(MPI_GROUP_EMPTY, 1 << 24, all.win), MPI_ERR_ASSERT);
  EXPECT_CLASS(MPI_Win_start(MPI_GROUP_EMPTY, 1 << 24, all.win), MPI_ERR_ASSERT);
  EXPECT_CLASS(MPI_Win_post(MPI_GROUP_NULL, 0, all.win), MPI_ERR_GROUP);
  EXPECT_CLASS(MPI_Win_start(MPI_GROUP_NULL, 0, all.win), MPI_ERR_GROUP);
}

void null_handles() {
  step = "null handles";
  int value = 0;
  MPI_Win none = MPI_WIN_NULL, made = MPI_WIN_NULL;
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, none), MPI_ERR_WIN);
  EXPECT_CLASS(MPI_Win_fence(0, none), MPI_ERR_WIN);
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, none), MPI_ERR_WIN);
  EXPECT_CLASS(MPI_Win_free(&none), MPI_ERR_WIN);
  EXPECT_CLASS(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_NULL, &made), MPI_ERR_COMM);
}

void arguments_of_creation() {
  step = "arguments of creation";
  std::array<int, 4> memory{};
  MPI_Win win = MPI_WIN_NULL;
  void* base = nullptr;
  EXPECT_CLASS(MPI_Win_create(memory.data(), -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
  EXPECT_CLASS(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
  EXPECT_CLASS(MPI_Win_create(memory.data(), 16, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
  EXPECT_CLASS(MPI_Win_create(memory.data(), 16, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
  EXPECT_CLASS(MPI_Win_create(nullptr, 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_BASE);
  EXPECT_CLASS(MPI_Win_create(memory.data(), LONG_MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
  EXPECT_CLASS(MPI_Win_create(memory.data(), MPI_Aint{1} << 46, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
  // All processes learn of the memory of one.
  EXPECT_CLASS(MPI_Win_create(memory.data(), rank() == 0 ? LONG_MAX : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
               MPI_ERR_SIZE);
  EXPECT_CLASS(MPI_Win_create(nullptr, 0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_SUCCESS);
  MPI_Win_free(&win);
  // More memory than there is, on all processes and on one.
  constexpr MPI_Aint too_much = MPI_Aint{1} << 50;
  for (const MPI_Aint others : {too_much, MPI_Aint{8}}) {
    const MPI_Aint bytes = rank() == 0 ? too_much : others;
    EXPECT_CLASS(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_NO_MEM);
  }
}

void flavors(bool shares) {
  step = "calls for windows of another flavor";
  ints all;
  std::array<int, 4> memory{};
  EXPECT_CLASS(MPI_Win_attach(all.win, memory.data(), sizeof memory), MPI_ERR_RMA_FLAVOR);
  EXPECT_CLASS(MPI_Win_detach(all.win, memory.data()), MPI_ERR_RMA_FLAVOR);
  MPI_Win dynamic = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  MPI_Aint bytes = 0, address = 0;
  int unit = 0, value = 3;
  void* base = nullptr;
  EXPECT_CLASS(MPI_Win_shared_query(dynamic, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);

  step = "memory of dynamic windows";
  EXPECT_CLASS(MPI_Win_attach(dynamic, memory.data(), -1), MPI_ERR_SIZE);
  EXPECT_CLASS(MPI_Win_detach(dynamic, memory.data()), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(MPI_Win_attach(dynamic, memory.data(), sizeof memory), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_detach(dynamic, memory.data() + 1), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(MPI_Win_detach(dynamic, memory.data()), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_detach(dynamic, memory.data()), MPI_ERR_RMA_ATTACH);
  const auto attach = [&](std::size_t from, std::size_t count) {
    return MPI_Win_attach(dynamic, &memory[from], static_cast<MPI_Aint>(count * sizeof(int)));
  };
  EXPECT_CLASS(attach(1, 2), MPI_SUCCESS);
  EXPECT_CLASS(attach(1, 2), MPI_ERR_RMA_ATTACH);  // the same, a part, more, and on either side
  EXPECT_CLASS(attach(1, 1), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(attach(0, 4), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(attach(0, 2), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(attach(2, 2), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(attach(0, 1), MPI_SUCCESS);  // neighbors
  EXPECT_CLASS(attach(3, 1), MPI_SUCCESS);
  for (const std::size_t from : {std::size_t{1}, std::size_t{0}, std::size_t{3}})
    EXPECT_CLASS(MPI_Win_detach(dynamic, &memory[from]), MPI_SUCCESS);
  for (const MPI_Aint impossible : {LONG_MAX, LONG_MAX / 2, MPI_Aint{1} << 46})
    EXPECT_CLASS(MPI_Win_attach(dynamic, memory.data(), impossible), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(MPI_Win_attach(dynamic, nullptr, 4), MPI_ERR_RMA_ATTACH);
  MPI_Get_address(memory.data(), &address);
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, dynamic);
  int found = class_of(MPI_Put(&value, 1, MPI_INT, rank(), address, 1, MPI_INT, dynamic));
  const int later = class_of(MPI_Win_unlock(rank(), dynamic));
  if (found == MPI_SUCCESS) found = later;
  EXPECT_CLASS(found, MPI_ERR_RMA_RANGE);
  CHECK(memory[0] == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&dynamic);

  if (!shares && size() > 1) {
    step = "shared memory of processes that have none";
    MPI_Win shared = MPI_WIN_NULL;
    EXPECT_CLASS(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared), MPI_ERR_RMA_SHARED);
  }
}

/// Only the target finds these errors. The call that completes the operation on it returns the error, and the program
/// continues.
void errors_of_targets() {
  step = "errors that the target finds";
  std::array<int, 4> memory{};
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Win_attach(win, memory.data(), sizeof memory), MPI_SUCCESS);
  const int next = program::next(), value = 3;
  const MPI_Aint there = program::address_at_next(memory.data());
  const MPI_Aint outside = there + static_cast<MPI_Aint>(sizeof memory);
  int got = 5;
  const auto put_outside = [&] {
    EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, next, outside, 1, MPI_INT, win), MPI_SUCCESS);
  };

  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_SUCCESS);
  put_outside();
  EXPECT_CLASS(MPI_Get(&got, 1, MPI_INT, next, outside, 1, MPI_INT, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_flush_local(next, win), MPI_SUCCESS);
  CHECK(got == 0);
  EXPECT_CLASS(MPI_Win_flush(next, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Win_flush(next, win), MPI_SUCCESS);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_CLASS(MPI_Rget(&got, 1, MPI_INT, next, outside, 1, MPI_INT, win, &request), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_unlock(next, win), MPI_ERR_RMA_RANGE);

  EXPECT_CLASS(MPI_Win_lock_all(0, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Fetch_and_op(&value, &got, MPI_INT, next, outside, MPI_SUM, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_flush_all(win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Compare_and_swap(&value, &value, &got, MPI_INT, next, outside, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_RANGE);

  MPI_Group origin = program::group_of({program::previous()}), target = program::group_of({next});
  EXPECT_CLASS(MPI_Win_post(origin, 0, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_start(target, 0, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, next, outside, 1, MPI_INT, MPI_SUM, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Win_wait(win), MPI_SUCCESS);
  for (MPI_Group* const each : {&origin, &target}) MPI_Group_free(each);

  EXPECT_CLASS(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), MPI_SUCCESS);
  put_outside();
  EXPECT_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, next, there, 1, MPI_INT, win), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_SUCCESS);
  CHECK((memory == std::array{3, 0, 0, 0}));
  EXPECT_CLASS(MPI_Win_detach(win, memory.data()), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Win_free(&win), MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  order_of_calls();
  arguments_of_operations();
  null_pointers();
  types_of_accumulates();
  texts_of_errors();
  arguments_of_synchronization();
  null_handles();
  arguments_of_creation();
  flavors(argc < 2);
  if (size() > 1) errors_of_targets();
  return wrong ? 1 : 0;
}
