#pragma once

/// What the functions of MPI that are not one-sided do, so that this rank serves windows while it is in them.
/// wrappers.py writes the functions themselves, from mpi.h.
///
/// Each rank of a collective must start the same operation of the MPI, so blocking collectives always take their
/// nonblocking form. A blocking function of one process takes it only while this process has windows.

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "amity/base/function_ref.hpp"
#include "amity/interop/mpi/drop_in/drop_in.hpp"
#include "amity/interop/mpi/drop_in/handler_call.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"
#include "amity/interop/mpi/drop_in/nested_calls.hpp"
#include "amity/interop/mpi/drop_in/tool_function.hpp"

namespace amity::mpi::wrapping {

/// Null: a call is passed to the MPI as it is.
inline drop_in* serving() noexcept { return nested_calls::exist() ? nullptr : drop_in::running(); }

/// Whether this process has no window, so that it may be in the MPI for any time. Another thread can make one during
/// that time.
inline bool is_idle() noexcept {
  drop_in* const own = serving();
  return own == nullptr || (own->windows().size() == 0 && !own->has_threads());
}

/// Whether collectives on this communicator are passed to the MPI as they are. The same on all its members.
inline bool is_native(MPI_Comm comm) {
  drop_in* const own = serving();
  return own == nullptr || own->foreigners().are_in(comm);
}

/// Returns an error class if the job has failed, and an error handler has returned.
int poll_windows(drop_in& own);

/// One round of progress for windows, if there are any.
inline void poll() {
  if (!is_idle()) [[unlikely]]
    static_cast<void>(poll_windows(*drop_in::running()));
}

/// Serves windows until `ask(&flag)` sets the flag or returns an error, which it returns.
int wait_until_done(function_ref<int(int*)> ask);

/// Waits for the request, as MPI_Wait does.
int finish(MPI_Request& request, MPI_Status* status);

/// Starts a nonblocking function of the MPI, and waits for it.
template <class Start, class... Arguments>
int complete(MPI_Status* status, Start& start, Arguments... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start(arguments..., &request);
  return code == MPI_SUCCESS ? finish(request, status) : code;
}

/// Waits until all members call a collective that may block, so that it takes a bounded time. Does nothing if the
/// members cannot be known.
void meet(MPI_Comm comm);
void meet(MPI_File file);

/// A call with this result may have made a communicator with processes of other jobs.
int joined(int code);

template <class Tool, class Own, class... Arguments>
int through_tool(Tool& tool, Own* own, Arguments... arguments) {
  if (const auto next = tool.find()) [[unlikely]]
    return next(arguments...);
  return own(arguments...);
}

// --- Functions of their own kind, by the names of those of MPI. They take the functions of the MPI that they need. ---

template <class Native, class Test>
int wait(Native& native, Test& test, MPI_Request* request, MPI_Status* status) {
  if (!is_idle()) return wait_until_done([&](int* flag) { return test(request, flag, status); });
  const nested_calls of_mpi;
  return native(request, status);
}

template <class Native, class Test>
int waitany(Native& native, Test& test, int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!is_idle()) return wait_until_done([&](int* flag) { return test(count, requests, index, flag, status); });
  const nested_calls of_mpi;
  return native(count, requests, index, status);
}

template <class Native, class Test>
int waitsome(Native& native, Test& test, int count, MPI_Request requests[], int* done, int indices[],
             MPI_Status statuses[]) {
  if (!is_idle()) {
    return wait_until_done([&](int* flag) {
      const int code = test(count, requests, done, indices, statuses);
      *flag = *done != 0 ? 1 : 0;
      return code;
    });
  }
  const nested_calls of_mpi;
  return native(count, requests, done, indices, statuses);
}

template <class Native, class Test>
int waitall(Native& native, Test& test, int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!is_idle()) return wait_until_done([&](int* flag) { return test(count, requests, flag, statuses); });
  const nested_calls of_mpi;
  return native(count, requests, statuses);
}

template <class Native, class Probe>
int probe(Native& native, Probe& iprobe, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (is_idle()) return native(source, tag, comm, status);
  return wait_until_done([&](int* flag) { return iprobe(source, tag, comm, flag, status); });
}

template <class Native, class Probe>
int mprobe(Native& native, Probe& improbe, int source, int tag, MPI_Comm comm, MPI_Message* message,
           MPI_Status* status) {
  if (is_idle()) return native(source, tag, comm, message, status);
  return wait_until_done([&](int* flag) { return improbe(source, tag, comm, flag, message, status); });
}

/// Waits for a receive from `source` and a send, which has been started with this result.
int finish_both(MPI_Request& receive, int source, MPI_Comm comm, MPI_Status* status, MPI_Request& send,
                int code_of_send);

template <class Native, class Receive, class Send, class Count>
int sendrecv(Native& native, Receive& irecv, Send& isend, const void* sent, Count sent_count, MPI_Datatype sent_type,
             int target, int sent_tag, void* received, Count received_count, MPI_Datatype received_type, int source,
             int received_tag, MPI_Comm comm, MPI_Status* status) {
  if (is_idle()) {
    return native(sent, sent_count, sent_type, target, sent_tag, received, received_count, received_type, source,
                  received_tag, comm, status);
  }
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  const int code = irecv(received, received_count, received_type, source, received_tag, comm, &receive);
  if (code != MPI_SUCCESS) return code;
  return finish_both(receive, source, comm, status, send,
                     isend(sent, sent_count, sent_type, target, sent_tag, comm, &send));
}

template <class Native, class Receive, class Send, class Pack, class Size, class Count>
int sendrecv_replace(Native& native, Receive& irecv, Send& isend, Pack& pack, Size& pack_size, void* buffer,
                     Count count, MPI_Datatype type, int target, int sent_tag, int source, int received_tag,
                     MPI_Comm comm, MPI_Status* status) {
  if (is_idle()) return native(buffer, count, type, target, sent_tag, source, received_tag, comm, status);
  Count bytes = 0, used = 0;
  int code = pack_size(count, type, comm, &bytes);
  if (code != MPI_SUCCESS) return code;
  if (bytes < 0) return native(buffer, count, type, target, sent_tag, source, received_tag, comm, status);
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
  if (bytes > 0) code = pack(buffer, count, type, packed.data(), bytes, &used, comm);
  if (code != MPI_SUCCESS) return code;
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  code = irecv(buffer, count, type, source, received_tag, comm, &receive);
  if (code != MPI_SUCCESS) return code;
  return finish_both(receive, source, comm, status, send,
                     isend(packed.data(), used, MPI_PACKED, target, sent_tag, comm, &send));
}

/// The leaders of two groups that are about to make an inter-communicator wait for each other, and then each group for
/// its leader.
void meet_leaders(MPI_Comm group, int leader, MPI_Comm peers, int other_leader, int tag);

template <class Native>
int intercomm_create(Native& native, MPI_Comm group, int leader, MPI_Comm peers, int other_leader, int tag,
                     MPI_Comm* made) {
  meet_leaders(group, leader, peers, other_leader, tag);
  const int code = native(group, leader, peers, other_leader, tag, made);
  if (drop_in* const own = serving(); own != nullptr && code == MPI_SUCCESS) own->foreigners().note(*made);
  return code;
}

template <class Native>
int file_open(Native& native, MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  drop_in* const own = serving();
  meet(comm);
  const nested_calls of_mpi;
  MPI_Comm members = own == nullptr || own->foreigners().are_in(comm) ? MPI_COMM_NULL : open_files::comm_for(comm);
  const int code = native(comm, name, mode, info, file);
  if (own == nullptr) return code;
  if (code == MPI_SUCCESS) {
    own->files().add(*file, members);
  } else if (members != MPI_COMM_NULL) {
    native::comm_free(&members);
  }
  return code;
}

template <class Native>
int file_close(Native& native, MPI_File* file) {
  drop_in* const own = serving();
  meet(*file);
  const nested_calls of_mpi;
  if (own != nullptr) own->files().remove(*file);
  return native(file);
}

}  // namespace amity::mpi::wrapping
