// Functions of the program that the library or the MPI calls: error handlers and functions of attributes. They call
// functions of windows, and functions of the MPI that block while another process needs this one. The argument is a
// level of threads.

#include <array>

#include "program.hpp"
#include "served_number.hpp"

namespace {

using program::class_of;
using program::increment_there;
using program::number_of;
using program::numbers;
using program::rank;
using program::step;

constexpr int tag = 5;

int called = 0;

/// What the functions of the program do. Rank 1 needs this process before it sends, in `answer`.
void talk() {
  ++called;
  int value = 0;
  increment_there(2);
  MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(value == number_of(rank()));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
  MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(value == number_of(rank()));
  MPI_Barrier(MPI_COMM_WORLD);
}

/// What rank 1 does for each call of `talk` in rank 0.
void answer() {
  static int number = 0;
  int value = 0;
  for (int message = 0; message < 2; ++message) {
    increment_there(3);
    number += 3;
    MPI_Send(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    if (message == 0) MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 0 does what makes the program's functions `talk` so many times.
template <class Call>
void expect_talks(const char* name, int times, Call call) {
  step = name;
  called = 0;
  if (rank() == 0) {
    call();
    CHECK(called == times);
  } else {
    for (int i = 0; i < times; ++i) answer();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void talk_of_window(MPI_Win*, int*, ...) { talk(); }
void talk_of_communicator(MPI_Comm*, int*, ...) { talk(); }

void error_handlers() {
  std::array<int, 4> memory{};
  MPI_Win all = MPI_WIN_NULL, dynamic = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &all);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(talk_of_window, &handler);
  MPI_Win_set_errhandler(all, handler);
  MPI_Win_set_errhandler(dynamic, handler);
  MPI_Errhandler_free(&handler);
  int value = 1;
  expect_talks("the error handler of a wrong call", 3, [&] {
    CHECK(class_of(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, all)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 7, 0, all)) == MPI_ERR_RANK);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, all);
    CHECK(class_of(MPI_Put(&value, 1, MPI_INT, 1, 40, 1, MPI_INT, all)) == MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_unlock(1, all) == MPI_SUCCESS);
  });
  // The target has found it.
  expect_talks("the error handler of a call that waits", 2, [&] {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, dynamic);
    MPI_Put(&value, 1, MPI_INT, 1, 64, 1, MPI_INT, dynamic);
    CHECK(class_of(MPI_Win_flush(1, dynamic)) == MPI_ERR_RMA_RANGE);
    MPI_Put(&value, 1, MPI_INT, 1, 64, 1, MPI_INT, dynamic);
    CHECK(class_of(MPI_Win_unlock(1, dynamic)) == MPI_ERR_RMA_RANGE);
  });
  MPI_Win_free(&dynamic);
  MPI_Win_free(&all);

  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(talk_of_communicator, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  expect_talks("the error handler of a communicator", 1,
               [&] { CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 99, tag, comm)) == MPI_ERR_RANK); });
  MPI_Comm_free(&comm);
}

int talk_in_deletion(MPI_Win, int, void*, void*) {
  if (rank() == 0) talk();
  return MPI_SUCCESS;
}
/// All members are in MPI_Win_free.
int use_own_memory_in_deletion(MPI_Win, int, void*, void*) {
  ++called;
  const int before = number_of(rank()), one = 1;
  int value = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, numbers);
  MPI_Accumulate(&one, 1, MPI_INT, rank(), 0, 1, MPI_INT, MPI_SUM, numbers);
  MPI_Win_flush(rank(), numbers);
  MPI_Get_accumulate(&one, 1, MPI_INT, &value, 1, MPI_INT, rank(), 0, 1, MPI_INT, MPI_NO_OP, numbers);
  MPI_Win_unlock(rank(), numbers);
  CHECK(value == before + 1);
  MPI_Sendrecv(&before, 1, MPI_INT, 0, tag, &value, 1, MPI_INT, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(value == before);
  const int minus_one = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, numbers);
  MPI_Accumulate(&minus_one, 1, MPI_INT, rank(), 0, 1, MPI_INT, MPI_SUM, numbers);
  MPI_Win_unlock(rank(), numbers);
  return MPI_SUCCESS;
}
int talk_in_deletion_of_communicator(MPI_Comm, int, void*, void*) {
  if (rank() == 0) talk();
  return MPI_SUCCESS;
}
int talk_in_copy(MPI_Comm, int, void*, void* from, void* to, int* is_copied) {
  *static_cast<void**>(to) = from;
  *is_copied = 1;
  if (rank() == 0) talk();
  return MPI_SUCCESS;
}

void attributes() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, talk_in_deletion, &key, nullptr);
  std::array<int, 4> memory{};
  MPI_Win all = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &all);
  expect_talks("a deleted attribute of a window", 2, [&] {
    MPI_Win_set_attr(all, key, &memory[0]);
    MPI_Win_set_attr(all, key, &memory[1]);
    MPI_Win_delete_attr(all, key);
  });
  MPI_Win_free_keyval(&key);
  step = "the end of a window with an attribute";
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, use_own_memory_in_deletion, &key, nullptr);
  MPI_Win_set_attr(all, key, &memory[0]);
  called = 0;
  MPI_Win_free(&all);
  CHECK(called == 1);
  MPI_Win_free_keyval(&key);

  MPI_Comm own = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Comm_create_keyval(talk_in_copy, talk_in_deletion_of_communicator, &key, nullptr);
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_set_attr(own, key, &memory[0]);
  expect_talks("a copied attribute of a communicator", 1, [&] { MPI_Comm_dup(own, &copy); });
  expect_talks("the end of a communicator with an attribute", 2, [&] {
    MPI_Comm_free(&copy);
    MPI_Comm_free(&own);
  });
  if (rank() == 1) MPI_Comm_free(&own);
  MPI_Comm_free_keyval(&key);
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_threads = program::wants_threads(argc, argv);
  const program::session running(argc, argv, 50, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  program::make_numbers();
  error_handlers();
  attributes();
  MPI_Win_free(&numbers);
}
