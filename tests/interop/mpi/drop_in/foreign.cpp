// Windows of processes that meet when they run. With the argument "spawn": those of MPI_COMM_WORLD, and one that they
// have spawned, which may run without the library. With "connect", they and the spawned one connect by a port, too;
// with "join", the first of them and the spawned one are joined by a socket. With "halves", two halves of
// MPI_COMM_WORLD connect by a port.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "program.hpp"

namespace {

using program::step;

/// The processes of `comm` pass their ranks in a ring, by fences and by locks.
void use_window(MPI_Comm comm) {
  int own = 0, members = 0;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &members);
  const int to = (own + 1) % members, from = (own + members - 1) % members;
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(program::bytes_min, sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  memory[0] = memory[1] = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&own, 1, MPI_INT, to, 0, 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  CHECK(memory[0] == from);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
  MPI_Put(&own, 1, MPI_INT, to, 1, 1, MPI_INT, win);
  MPI_Win_unlock(to, win);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, own, 0, win);
  CHECK(memory[1] == from);
  MPI_Win_unlock(own, win);
  void* base = nullptr;
  int found = 0;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found);
  CHECK(found != 0 && base == memory);
  MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
}

/// The processes of two communicators, connected by a port. The name of the port travels from process 0 of those that
/// accept to process `receiver` of `names`.
MPI_Comm connect(MPI_Comm own, bool accepts, MPI_Comm names, int receiver) {
  step = accepts ? "MPI_Comm_accept" : "MPI_Comm_connect";
  std::array<char, MPI_MAX_PORT_NAME> port{};
  int rank = 0;
  MPI_Comm_rank(own, &rank);
  MPI_Comm others = MPI_COMM_NULL, all = MPI_COMM_NULL;
  if (accepts) {
    if (rank == 0) {
      MPI_Open_port(MPI_INFO_NULL, port.data());
      MPI_Send(port.data(), MPI_MAX_PORT_NAME, MPI_CHAR, receiver, 0, names);
    }
    MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, own, &others);
    if (rank == 0) MPI_Close_port(port.data());
  } else {
    if (rank == 0) MPI_Recv(port.data(), MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, names, MPI_STATUS_IGNORE);
    MPI_Comm_connect(port.data(), MPI_INFO_NULL, 0, own, &others);
  }
  MPI_Intercomm_merge(others, accepts ? 0 : 1, &all);
  MPI_Comm_disconnect(&others);
  return all;
}

/// Process 0 of the program and the spawned process, which `others` connects, are joined by a socket.
MPI_Comm join(MPI_Comm others, bool is_child) {
  step = "MPI_Comm_join";
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof address;
  int connected = listening;
  if (is_child) {
    MPI_Recv(&address.sin_port, sizeof address.sin_port, MPI_BYTE, 0, 0, others, MPI_STATUS_IGNORE);
    CHECK(::connect(connected, general, bytes) == 0);
  } else {
    CHECK(::bind(listening, general, bytes) == 0 && ::listen(listening, 1) == 0);
    CHECK(::getsockname(listening, general, &bytes) == 0);
    MPI_Send(&address.sin_port, sizeof address.sin_port, MPI_BYTE, 0, 0, others);
    connected = ::accept(listening, nullptr, nullptr);
    CHECK(connected >= 0);
    ::close(listening);
  }
  MPI_Comm joined = MPI_COMM_NULL, all = MPI_COMM_NULL;
  CHECK(MPI_Comm_join(connected, &joined) == MPI_SUCCESS);
  ::close(connected);
  MPI_Intercomm_merge(joined, is_child ? 1 : 0, &all);
  MPI_Comm_disconnect(&joined);
  return all;
}

void connect_halves() {
  const bool accepts = program::rank() < program::size() / 2;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, accepts ? 0 : 1, program::rank(), &half);
  MPI_Comm all = connect(half, accepts, MPI_COMM_WORLD, program::size() / 2);
  step = "windows of two halves";
  use_window(all);
  use_window(MPI_COMM_WORLD);
  MPI_Comm_free(&all);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv, 60);
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "halves") {
    connect_halves();
    return 0;
  }
  MPI_Comm others = MPI_COMM_NULL, all = MPI_COMM_NULL;
  MPI_Comm_get_parent(&others);
  const bool is_child = others != MPI_COMM_NULL;
  use_window(MPI_COMM_WORLD);
  step = "MPI_Comm_spawn";
  if (!is_child) MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(others, is_child ? 1 : 0, &all);
  step = "windows of two jobs";
  use_window(all);
  use_window(all);
  if (way == "connect") {
    MPI_Comm connected = connect(MPI_COMM_WORLD, !is_child, others, 0);
    step = "windows of two jobs that have connected";
    use_window(connected);
    MPI_Comm_free(&connected);
  }
  if (way == "join" && (is_child || program::rank() == 0)) {
    MPI_Comm joined = join(others, is_child);
    step = "windows of two processes that are joined";
    use_window(joined);
    MPI_Comm_free(&joined);
  }
  step = "a window of this job";
  use_window(MPI_COMM_WORLD);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&others);
}
