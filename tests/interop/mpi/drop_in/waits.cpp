/// What calls that wait return, while the process has a window: requests, indices, statuses and errors are those of the
/// MPI. Rank 0 checks, rank 1 sends.

#include <array>
#include <vector>

#include "program.hpp"

namespace {

using program::rank;
using program::step;

constexpr int tag = 3;
int handled = 0, handled_class = MPI_SUCCESS;

void note(MPI_Comm*, int* code, ...) {
  ++handled;
  MPI_Error_class(*code, &handled_class);
}

int class_of(int code) {
  int value = MPI_SUCCESS;
  MPI_Error_class(code, &value);
  return value;
}

/// The handler of the communicator has been called once since the last look, with this class.
void check_handled(int error_class) {
  CHECK(handled == 1);
  CHECK(handled_class == error_class);
  handled = 0;
}

void check_empty(const MPI_Status& status) {
  int count = -1, is_cancelled = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Test_cancelled(&status, &is_cancelled);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0 && is_cancelled == 0);
}

void check_from_peer(const MPI_Status& status, int expected_count) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == tag && count == expected_count);
}

void send(MPI_Comm comm, int count) {
  const std::vector<int> values(static_cast<std::size_t>(count), 5);
  MPI_Send(values.data(), count, MPI_INT, 0, tag, comm);
}

MPI_Request receive(MPI_Comm comm, int* into, int count) {
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Irecv(into, count, MPI_INT, 1, tag, comm, &request) == MPI_SUCCESS);
  return request;
}

void requests_without_operation(MPI_Comm comm) {
  MPI_Status status;
  std::array<MPI_Status, 2> statuses;
  std::array requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int value = 0, index = 0, done = 0;
  std::array<int, 2> indices{};
  step = "null requests";
  CHECK(MPI_Wait(requests.data(), &status) == MPI_SUCCESS);
  check_empty(status);
  CHECK(MPI_Waitany(2, requests.data(), &index, &status) == MPI_SUCCESS && index == MPI_UNDEFINED);
  check_empty(status);
  CHECK(MPI_Waitsome(2, requests.data(), &done, indices.data(), statuses.data()) == MPI_SUCCESS);
  CHECK(done == MPI_UNDEFINED);
  CHECK(MPI_Waitall(2, requests.data(), statuses.data()) == MPI_SUCCESS);
  check_empty(statuses[1]);
  CHECK(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE) == MPI_SUCCESS);

  step = "a persistent request that is not active";
  MPI_Recv_init(&value, 1, MPI_INT, 1, tag, comm, &requests[0]);
  CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS && requests[0] != MPI_REQUEST_NULL);
  check_empty(status);
  CHECK(MPI_Waitany(2, requests.data(), &index, &status) == MPI_SUCCESS && index == MPI_UNDEFINED);
  CHECK(MPI_Waitsome(2, requests.data(), &done, indices.data(), statuses.data()) == MPI_SUCCESS);
  CHECK(done == MPI_UNDEFINED);
  CHECK(MPI_Waitall(2, requests.data(), statuses.data()) == MPI_SUCCESS);
  MPI_Request_free(&requests[0]);
}

void persistent_request(MPI_Comm comm) {
  step = "a persistent request";
  int value = 0, index = 0;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&value, 1, MPI_INT, 1, tag, comm, &request);
  for (int round = 0; round < 3; ++round) {
    value = 0;
    MPI_Start(&request);
    if (round == 0) CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    if (round == 1) CHECK(MPI_Waitany(1, &request, &index, &status) == MPI_SUCCESS && index == 0);
    if (round == 2) CHECK(MPI_Waitall(1, &request, &status) == MPI_SUCCESS);
    CHECK(request != MPI_REQUEST_NULL && value == 5);
    check_from_peer(status, 1);
  }
  MPI_Request_free(&request);
}

void truncated(MPI_Comm comm) {
  std::array<int, 4> values{};
  MPI_Status status;
  step = "MPI_Recv of a message that is too long";
  CHECK(class_of(MPI_Recv(values.data(), 1, MPI_INT, 1, tag, comm, &status)) == MPI_ERR_TRUNCATE);
  check_handled(MPI_ERR_TRUNCATE);
  step = "MPI_Wait for a message that is too long";
  MPI_Request request = receive(comm, values.data(), 1);
  CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_TRUNCATE && request == MPI_REQUEST_NULL);
  check_handled(MPI_ERR_TRUNCATE);
  step = "MPI_Waitall for a message that is too long";
  std::array<MPI_Status, 3> statuses;
  std::array requests{receive(comm, &values[0], 1), receive(comm, &values[1], 1), receive(comm, &values[2], 1)};
  CHECK(class_of(MPI_Waitall(3, requests.data(), statuses.data())) == MPI_ERR_IN_STATUS);
  CHECK(handled == 1);
  handled = 0;
  CHECK(class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
  // An MPI may return before the others are complete.
  for (const int other : {0, 2}) {
    const int code = class_of(statuses[static_cast<std::size_t>(other)].MPI_ERROR);
    CHECK(code == MPI_SUCCESS || code == MPI_ERR_PENDING);
  }
  MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
  handled = 0;
}

void wrong_arguments(MPI_Comm comm) {
  int value = 0, other = 0;
  step = "MPI_Send to a rank that is not one";
  CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 99, tag, comm)) == MPI_ERR_RANK);
  check_handled(MPI_ERR_RANK);
  step = "MPI_Recv of a negative count";
  CHECK(class_of(MPI_Recv(&value, -1, MPI_INT, 1, tag, comm, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
  check_handled(MPI_ERR_COUNT);
  step = "MPI_Sendrecv to a rank that is not one";  // Open MPI keeps the receive of it
  CHECK(class_of(MPI_Sendrecv(&value, 1, MPI_INT, 99, tag, &other, 1, MPI_INT, 1, tag + 9, comm, MPI_STATUS_IGNORE)) ==
        MPI_ERR_RANK);
  check_handled(MPI_ERR_RANK);
  step = "MPI_Bcast with a root that is not one";
  CHECK(class_of(MPI_Bcast(&value, 1, MPI_INT, 99, comm)) == MPI_ERR_ROOT);
  check_handled(MPI_ERR_ROOT);
}

void no_process(MPI_Comm comm) {
  step = "MPI_PROC_NULL";
  int value = 8;
  MPI_Status status;
  CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, tag, comm, &status) == MPI_SUCCESS);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && value == 8);
  CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_PROC_NULL, tag, comm, &status) == MPI_SUCCESS);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && value == 8);
  CHECK(MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, tag, comm) == MPI_SUCCESS);
  MPI_Probe(MPI_PROC_NULL, tag, comm, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

void statuses(MPI_Comm comm) {
  step = "statuses";
  std::array<int, 4> values{};
  MPI_Status status;
  MPI_Recv(values.data(), 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  check_from_peer(status, 2);
  MPI_Sendrecv(values.data(), 0, MPI_INT, 0, tag + 1, values.data(), 0, MPI_INT, 0, tag + 1, comm, &status);
  CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == tag + 1);

  // A type with gaps, whose message replaces what is sent.
  step = "MPI_Sendrecv_replace of a type with gaps";
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  values = {1, 2, 3, 4};
  MPI_Sendrecv_replace(values.data(), 1, every_other, 1, tag, 1, tag, comm, &status);
  CHECK(values[0] == 10 && values[1] == 2 && values[2] == 30 && values[3] == 4);
  check_from_peer(status, 2);
  MPI_Type_free(&every_other);
}

void answer(MPI_Comm comm) {
  for (int round = 0; round < 3; ++round) send(comm, 1);
  for (const int count : {3, 3, 1, 3, 1}) send(comm, count);
  send(comm, 2);
  std::array<int, 2> values{};
  MPI_Recv(values.data(), 2, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
  for (int& value : values) value *= 10;
  MPI_Send(values.data(), 2, MPI_INT, 0, tag, comm);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv, 50);
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(note, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);  // MPICH calls this one for errors of requests
  if (rank() == 0) {
    requests_without_operation(comm);
    wrong_arguments(comm);
    no_process(comm);
    persistent_request(comm);
    truncated(comm);
    statuses(comm);
  } else if (rank() == 1) {
    answer(comm);
  }
  step = "the end";
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Win_free(&win);
}
