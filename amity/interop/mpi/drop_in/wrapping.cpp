#include "amity/interop/mpi/drop_in/wrapping.hpp"

#include <exception>

#include "amity/interop/mpi/drop_in/calls.hpp"

namespace amity::mpi::wrapping {
namespace {

/// A message of the MPI that comes soon is there before the engine can be entered.
constexpr int early_questions = 8;

}  // namespace

int poll_windows(drop_in& own) {
  try {
    const nested_calls of_mpi;
    own.make_progress();
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return raise_on_communicator("a call that makes progress", MPI_COMM_WORLD);
  }
}

int wait_until_done(function_ref<int(int*)> ask) {
  int code = MPI_SUCCESS;
  const auto is_done = [&] {
    int flag = 0;
    code = ask(&flag);
    return flag != 0 || code != MPI_SUCCESS;
  };
  const nested_calls of_mpi;
  try {
    drop_in& own = *drop_in::running();
    own.requests().complete_ready();
    // Generalized requests of the program's operations need the engine.
    const int questions = own.requests().any() ? 1 : early_questions;
    for (int i = 0; i < questions; ++i) {
      if (!is_done()) continue;
      own.make_progress_after_short_wait();
      return code;
    }
    own.own_job().wait_for(is_done, [&] { own.requests().complete_ready(); });
  } catch (const std::exception&) {
    return raise_on_communicator("a call that waits", MPI_COMM_WORLD);
  }
  return code;
}

int finish(MPI_Request& request, MPI_Status* status) { return wait(native::wait, native::test, &request, status); }

void meet(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || is_native(comm)) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (native::ibarrier(comm, &request) == MPI_SUCCESS) finish(request, MPI_STATUS_IGNORE);
}

void meet(MPI_File file) {
  drop_in* const own = serving();
  if (own == nullptr) return;
  const MPI_Comm members = own->files().comm_of(file);
  if (members != MPI_COMM_NULL) {
    meet(members);
  } else {
    poll();
  }
}

int joined(int code) {
  if (drop_in* const own = serving()) own->foreigners().note();
  return code;
}

int finish_both(MPI_Request& receive, int source, MPI_Comm comm, MPI_Status* status, MPI_Request& send,
                int code_of_send) {
  if (code_of_send != MPI_SUCCESS) {
    native::cancel(&receive);
    native::wait(&receive, MPI_STATUS_IGNORE);
    return code_of_send;
  }
  const int code = finish(receive, status);
  const int code_of_end = finish(send, MPI_STATUS_IGNORE);
  // MPICH does not give MPI_Irecv the right status.
  if (source == MPI_PROC_NULL) native::probe(MPI_PROC_NULL, MPI_ANY_TAG, comm, status);
  return code != MPI_SUCCESS ? code : code_of_end;
}

void meet_leaders(MPI_Comm group, int leader, MPI_Comm peers, int other_leader, int tag) {
  if (group == MPI_COMM_NULL) return;
  int rank = MPI_PROC_NULL;
  native::comm_rank(group, &rank);
  // The standard reserves the tag for the call.
  if (rank == leader && peers != MPI_COMM_NULL && !is_native(peers)) {
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    if (native::irecv(nullptr, 0, MPI_BYTE, other_leader, tag, peers, &receive) == MPI_SUCCESS) {
      finish_both(receive, other_leader, peers, MPI_STATUS_IGNORE, send,
                  native::isend(nullptr, 0, MPI_BYTE, other_leader, tag, peers, &send));
    }
  }
  meet(group);
}

}  // namespace amity::mpi::wrapping
