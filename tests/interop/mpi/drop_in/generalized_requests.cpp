// Generalized requests whose functions call functions of windows, and exchange messages. The MPI calls them in calls
// that wait, in which this process also serves its window. The argument is a level of threads.

#include <array>
#include <functional>
#include <thread>

#include "program.hpp"
#include "served_number.hpp"

namespace {

using program::increment_there;
using program::number_of;
using program::rank;
using program::step;

constexpr int tag = 5, tag_of_end = 6;

int called = 0;
bool exchanges = true;  ///< `talk` exchanges messages

/// What the functions of the requests of rank 0 do.
void talk() {
  ++called;
  const int before = number_of(1);
  increment_there(2);
  CHECK(number_of(1) == before + 2);
  CHECK(number_of(0) >= 0);
  if (!exchanges) return;
  int value = -1;
  MPI_Sendrecv(&called, 1, MPI_INT, 1, tag, &value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(value == called);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(value == -called);
}

/// What rank 1 does during the calls of `talk`.
void answer() {
  for (;;) {
    int value = 0;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == tag_of_end) return;
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    value = -value;
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  }
}

int talk_in_query(void*, MPI_Status* status) {
  talk();
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  MPI_Status_set_cancelled(status, 0);
  return MPI_Status_set_elements(status, MPI_BYTE, 0);
}
int talk_in_free(void* freed) {
  talk();
  ++*static_cast<int*>(freed);
  return MPI_SUCCESS;
}
int talk_in_cancel(void*, int) {
  talk();
  return MPI_SUCCESS;
}

int freed = 0;

MPI_Request start() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Grequest_start(talk_in_query, talk_in_free, talk_in_cancel, &freed, &request);
  return request;
}

/// Rank 0 calls what makes the functions `talk`, so many times or more: an MPI may call the first function again. If it
/// waits for a message of rank 1, that one sends it when rank 0 has served it for a while.
void expect_talks(const char* name, int times_min, bool waits, const std::function<void()>& call) {
  step = name;
  called = 0;
  freed = 0;
  if (rank() == 0) {
    call();
    CHECK(called >= times_min);
    CHECK(freed == 1);
    MPI_Send(nullptr, 0, MPI_INT, 1, tag_of_end, MPI_COMM_WORLD);
  } else {
    if (waits) {
      increment_there(5);
      MPI_Send(nullptr, 0, MPI_INT, 0, tag_of_end, MPI_COMM_WORLD);
    }
    answer();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

MPI_Request receiving() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(nullptr, 0, MPI_INT, 1, tag_of_end, MPI_COMM_WORLD, &request);
  return request;
}

void requests_that_are_complete() {
  expect_talks("MPI_Wait", 2, false, [] {
    MPI_Request request = start();
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
  });
  expect_talks("MPI_Test", 2, false, [] {
    MPI_Request request = start();
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(done == 0 && called == 0);
    MPI_Grequest_complete(request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(done != 0);
  });
  expect_talks("MPI_Cancel", 3, false, [] {
    MPI_Request request = start();
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

/// MPICH calls the first function before the message is there, when rank 1 does not answer yet.
void requests_beside_messages() {
  exchanges = false;
  expect_talks("MPI_Waitall", 2, true, [] {
    std::array<MPI_Request, 2> all{start(), receiving()};
    MPI_Grequest_complete(all[0]);
    MPI_Waitall(2, all.data(), MPI_STATUSES_IGNORE);
    CHECK(all[0] == MPI_REQUEST_NULL && all[1] == MPI_REQUEST_NULL);
  });
  exchanges = true;
}

/// Another thread of rank 0 completes the request, when rank 1 has been served for a while.
void requests_of_threads() {
  expect_talks("MPI_Wait, completed by a thread", 2, true, [] {
    MPI_Request request = start();
    std::thread other([request] {
      MPI_Recv(nullptr, 0, MPI_INT, 1, tag_of_end, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Grequest_complete(request);
    });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    other.join();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_threads = program::wants_threads(argc, argv);
  const program::session running(argc, argv, 50, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  program::make_numbers();
  requests_that_are_complete();
  requests_beside_messages();
  if (has_threads) requests_of_threads();
  MPI_Win_free(&program::numbers);
}
