/// Each blocking call of rank 0 serves rank 1, which puts into a window of rank 0 before it lets the call end. The put
/// is complete at rank 0 only when rank 0 has made progress: AMITY_WINDOW_PROTOCOL=buffered.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program.hpp"

namespace {

using program::rank;
using program::size;
using program::step;

constexpr int tag = 7;

/// A blocking call that all ranks make, or rank 0 with something that rank 1 does to end it.
struct blocking_call {
  const char* name;
  std::function<void()> target;  ///< rank 0
  std::function<void()> origin;  ///< rank 1, after its put
  std::function<void()> others{};
};

blocking_call collective(const char* name, const std::function<void()>& call) { return {name, call, call, call}; }

int sent = 41, received = 0;
std::vector<int> from, to, counts, places;
std::vector<MPI_Datatype> types;

/// Arguments for the two neighbors of a process in a ring.
const std::array<int, 2> two_counts{1, 1}, two_places{0, 1};
const std::array<MPI_Aint, 2> two_bytes{0, sizeof(int)};
const std::array<MPI_Datatype, 2> two_types{MPI_INT, MPI_INT};

/// All get the ranks of their neighbors.
blocking_call with_neighbors(const char* name, const std::function<void()>& call) {
  return collective(name, [=] {
    call();
    CHECK(to[0] == program::previous() && to[1] == program::next());
    to.assign(to.size(), -1);
  });
}

/// All make a communicator of all.
blocking_call makes_communicator(const char* name, const std::function<void(MPI_Comm*)>& make) {
  return collective(name, [=] {
    MPI_Comm made = MPI_COMM_NULL;
    make(&made);
    int members = 0;
    MPI_Comm_size(made, &members);
    CHECK(members == size());
    MPI_Comm_free(&made);
  });
}

std::vector<blocking_call> communicators(MPI_Comm comm, MPI_Comm ring) {
  return {
      makes_communicator("MPI_Comm_dup", [=](MPI_Comm* made) { MPI_Comm_dup(comm, made); }),
      makes_communicator("MPI_Comm_dup_with_info",
                         [=](MPI_Comm* made) { MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, made); }),
      makes_communicator("MPI_Comm_split", [=](MPI_Comm* made) { MPI_Comm_split(comm, 0, -rank(), made); }),
      makes_communicator(
          "MPI_Comm_split_type",
          [=](MPI_Comm* made) { MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made); }),
      makes_communicator("MPI_Comm_create",
                         [=](MPI_Comm* made) {
                           MPI_Group all = MPI_GROUP_NULL;
                           MPI_Comm_group(comm, &all);
                           MPI_Comm_create(comm, all, made);
                           MPI_Group_free(&all);
                         }),
      makes_communicator("MPI_Cart_create",
                         [=](MPI_Comm* made) {
                           const int extent = size(), periodic = 1;
                           MPI_Cart_create(comm, 1, &extent, &periodic, 0, made);
                         }),
      makes_communicator("MPI_Cart_sub",
                         [=](MPI_Comm* made) {
                           const int remains = 1;
                           MPI_Cart_sub(ring, &remains, made);
                         }),
      makes_communicator("MPI_Graph_create",
                         [=](MPI_Comm* made) {
                           std::vector<int> ends, edges;
                           for (int node = 0; node < size(); ++node) {
                             ends.push_back(node + 1);
                             edges.push_back((node + 1) % size());
                           }
                           MPI_Graph_create(comm, size(), ends.data(), edges.data(), 0, made);
                         }),
      makes_communicator("MPI_Dist_graph_create",
                         [=](MPI_Comm* made) {
                           const int source = rank(), degree = 1, destination = program::next();
                           MPI_Dist_graph_create(comm, 1, &source, &degree, &destination, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                                 0, made);
                         }),
      makes_communicator("MPI_Dist_graph_create_adjacent",
                         [=](MPI_Comm* made) {
                           const int source = program::previous(), destination = program::next();
                           MPI_Dist_graph_create_adjacent(comm, 1, &source, MPI_UNWEIGHTED, 1, &destination,
                                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, made);
                         }),
  };
}

std::vector<blocking_call> collectives(MPI_Comm comm, MPI_Comm ring) {
  const auto n = static_cast<std::size_t>(size());
  from.assign(4 * n, rank());
  to.assign(4 * n, -1);
  counts.assign(n, 1);
  types.assign(n, MPI_INT);
  for (int other = 0; other < size(); ++other) places.push_back(other);
  int *const in = from.data(), *const out = to.data(), *const ones = counts.data(), *const at = places.data();
  MPI_Datatype* const ints = types.data();
  return {
      collective("MPI_Barrier", [=] { MPI_Barrier(comm); }),
      collective("MPI_Bcast", [=] { MPI_Bcast(out, 1, MPI_INT, 1, comm); }),
      collective("MPI_Gather", [=] { MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm); }),
      collective("MPI_Gatherv", [=] { MPI_Gatherv(in, 1, MPI_INT, out, ones, at, MPI_INT, 0, comm); }),
      collective("MPI_Scatter", [=] { MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 1, comm); }),
      collective("MPI_Scatterv", [=] { MPI_Scatterv(in, ones, at, MPI_INT, out, 1, MPI_INT, 1, comm); }),
      collective("MPI_Allgather", [=] { MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm); }),
      collective("MPI_Allgatherv", [=] { MPI_Allgatherv(in, 1, MPI_INT, out, ones, at, MPI_INT, comm); }),
      collective("MPI_Alltoall", [=] { MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm); }),
      collective("MPI_Alltoallv", [=] { MPI_Alltoallv(in, ones, at, MPI_INT, out, ones, at, MPI_INT, comm); }),
      collective("MPI_Alltoallw", [=] { MPI_Alltoallw(in, ones, at, ints, out, ones, at, ints, comm); }),
      collective("MPI_Reduce", [=] { MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, comm); }),
      collective("MPI_Allreduce", [=] { MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm); }),
      collective("MPI_Reduce_scatter", [=] { MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, comm); }),
      collective("MPI_Reduce_scatter_block", [=] { MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, comm); }),
      // Rank 0 sends without waiting for others.
      collective("MPI_Scan, MPI_Exscan, MPI_Barrier",
                 [=] {
                   MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, comm);
                   MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, comm);
                   MPI_Barrier(comm);
                 }),
      with_neighbors("MPI_Neighbor_allgather", [=] { MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring); }),
      with_neighbors("MPI_Neighbor_alltoall", [=] { MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring); }),
      with_neighbors(
          "MPI_Neighbor_allgatherv",
          [=] { MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, two_counts.data(), two_places.data(), MPI_INT, ring); }),
      with_neighbors("MPI_Neighbor_alltoallv",
                     [=] {
                       MPI_Neighbor_alltoallv(in, two_counts.data(), two_places.data(), MPI_INT, out, two_counts.data(),
                                              two_places.data(), MPI_INT, ring);
                     }),
      with_neighbors("MPI_Neighbor_alltoallw",
                     [=] {
                       MPI_Neighbor_alltoallw(in, two_counts.data(), two_bytes.data(), two_types.data(), out,
                                              two_counts.data(), two_bytes.data(), two_types.data(), ring);
                     }),
  };
}

void send() { MPI_Send(&sent, 1, MPI_INT, 0, tag, MPI_COMM_WORLD); }
void receive() { MPI_Recv(&received, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
void receive_and_send() {
  receive();
  send();
}

MPI_Request receiving(int* into = &received) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(into, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
  return request;
}

void check_received() {
  CHECK(received == 41);
  received = 0;
}

/// Rank 0 receives the number of rank 1.
blocking_call receives(const char* name, const std::function<void()>& call,
                       const std::function<void()>& origin = send) {
  return {name,
          [=] {
            call();
            check_received();
          },
          origin};
}

/// Rank 0 waits by itself, in calls that return at once.
blocking_call polls(const char* name, const std::function<void(MPI_Request&, int&)>& test) {
  return receives(name, [=] {
    MPI_Request request = receiving();
    for (int done = 0; done == 0;) test(request, done);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

/// Rank 0 exchanges a number for that of rank 1.
blocking_call replaces(const char* name, const std::function<void(int*)>& call) {
  return {name,
          [=] {
            int value = 13;
            call(&value);
            CHECK(value == 41);
          },
          [] {
            receive();
            CHECK(received == 13);
            send();
          }};
}

std::vector<blocking_call> point_to_point() {
  static std::vector<int> large(1 << 20);
  const auto receive_large = [] {
    MPI_Recv(large.data(), static_cast<int>(large.size()), MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  return {
      {"MPI_Recv",
       [] {
         MPI_Status status;
         MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
         CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == tag);
         check_received();
       },
       send},
      {"MPI_Ssend", [] { MPI_Ssend(&sent, 1, MPI_INT, 1, tag, MPI_COMM_WORLD); }, receive},
      // The receive has begun before the send: process 0 first waits for a message.
      {"MPI_Recv, MPI_Rsend",
       [] {
         MPI_Recv(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
         check_received();
         MPI_Rsend(large.data(), static_cast<int>(large.size()), MPI_INT, 1, tag, MPI_COMM_WORLD);
       },
       [] {
         large.back() = -1;
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Irecv(large.data(), static_cast<int>(large.size()), MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
         send();
         MPI_Wait(&request, MPI_STATUS_IGNORE);
         CHECK(large.back() == 0);
       }},
      {"MPI_Send", [] { MPI_Send(large.data(), static_cast<int>(large.size()), MPI_INT, 1, tag, MPI_COMM_WORLD); },
       receive_large},
      receives("MPI_Probe",
               [] {
                 MPI_Status status;
                 MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                 CHECK(status.MPI_TAG == tag);
                 MPI_Recv(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               }),
      receives("MPI_Mprobe",
               [] {
                 MPI_Message message = MPI_MESSAGE_NULL;
                 MPI_Status status;
                 MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, &status);
                 MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
                 CHECK(message == MPI_MESSAGE_NULL);
               }),
      receives(
          "MPI_Sendrecv",
          [] {
            MPI_Sendrecv(&sent, 1, MPI_INT, 1, tag, &received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          },
          receive_and_send),
      replaces("MPI_Sendrecv_replace",
               [](int* value) {
                 MPI_Sendrecv_replace(value, 1, MPI_INT, 1, tag, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               }),
      receives("MPI_Wait",
               [] {
                 MPI_Request request = receiving();
                 MPI_Wait(&request, MPI_STATUS_IGNORE);
                 CHECK(request == MPI_REQUEST_NULL);
               }),
      {"MPI_Waitall",
       [] {
         std::array<int, 2> values{};
         std::array requests{receiving(&values[0]), MPI_REQUEST_NULL, receiving(&values[1])};
         MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
         CHECK(values[0] == 41 && values[1] == 41);
       },
       [] {
         send();
         send();
       }},
      receives("MPI_Waitany",
               [] {
                 std::array requests{MPI_REQUEST_NULL, receiving()};
                 int index = 0;
                 MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
                 CHECK(index == 1);
               }),
      receives("MPI_Waitsome",
               [] {
                 std::array requests{MPI_REQUEST_NULL, receiving()};
                 std::array<int, 2> indices{};
                 int done = 0;
                 MPI_Waitsome(2, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
                 CHECK(done == 1 && indices[0] == 1);
               }),
      polls("MPI_Test", [](MPI_Request& of, int& done) { MPI_Test(&of, &done, MPI_STATUS_IGNORE); }),
      polls("MPI_Testall", [](MPI_Request& of, int& done) { MPI_Testall(1, &of, &done, MPI_STATUSES_IGNORE); }),
      polls("MPI_Testany",
            [](MPI_Request& of, int& done) {
              int index = 0;
              MPI_Testany(1, &of, &index, &done, MPI_STATUS_IGNORE);
            }),
      polls("MPI_Testsome",
            [](MPI_Request& of, int& done) {
              int index = 0;
              MPI_Testsome(1, &of, &done, &index, MPI_STATUSES_IGNORE);
            }),
      polls("MPI_Request_get_status",
            [](MPI_Request& of, int& done) { MPI_Request_get_status(of, &done, MPI_STATUS_IGNORE); }),
      receives("MPI_Iprobe",
               [] {
                 for (int there = 0; there == 0;) MPI_Iprobe(1, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
                 MPI_Recv(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               }),
  };
}

#if MPI_VERSION >= 4

/// The forms for large counts.
std::vector<blocking_call> large_counts(MPI_Comm comm, MPI_Comm ring) {
  static std::vector<MPI_Count> ones;
  static std::vector<MPI_Aint> offsets, bytes;
  static const std::array<MPI_Count, 2> two_ones{1, 1};
  for (int other = 0; other < size(); ++other) {
    ones.push_back(1);
    offsets.push_back(other);
    bytes.push_back(other * static_cast<MPI_Aint>(sizeof(int)));
  }
  int *const in = from.data(), *const out = to.data();
  const MPI_Count *const all_ones = ones.data(), *const both = two_ones.data();
  const MPI_Aint *const at = offsets.data(), *const at_bytes = bytes.data();
  MPI_Datatype* const ints = types.data();
  const auto check = [](int count, int first) {
    for (int i = 0; i < count; ++i) CHECK(to[static_cast<std::size_t>(i)] == first + i);
    to.assign(to.size(), -1);
  };
  const auto check_ranks = [check] { check(size(), 0); };
  const auto check_one = [check] { check(1, 1); };
  const auto check_sum = [check](int members) { check(1, members * (members - 1) / 2); };
  const auto check_sum_of_all = [check_sum] { check_sum(size()); };
  /// A collective call after which these checks hold, or those of rank 0.
  const auto gives = [](const char* name, const std::function<void()>& checks, const std::function<void()>& call) {
    return collective(name, [=] {
      call();
      checks();
    });
  };
  const auto gives_root = [gives](const char* name, const std::function<void()>& checks,
                                  const std::function<void()>& call) {
    const auto check_at_root = [=] {
      if (rank() == 0) checks();
    };
    return gives(name, check_at_root, call);
  };
  return {
      gives("MPI_Bcast_c", check_one,
            [=] {
              to[0] = rank();
              MPI_Bcast_c(out, 1, MPI_INT, 1, comm);
            }),
      gives_root("MPI_Gather_c", check_ranks, [=] { MPI_Gather_c(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm); }),
      gives_root("MPI_Gatherv_c", check_ranks,
                 [=] { MPI_Gatherv_c(in, 1, MPI_INT, out, all_ones, at, MPI_INT, 0, comm); }),
      gives("MPI_Scatter_c", check_one, [=] { MPI_Scatter_c(in, 1, MPI_INT, out, 1, MPI_INT, 1, comm); }),
      gives("MPI_Scatterv_c", check_one, [=] { MPI_Scatterv_c(in, all_ones, at, MPI_INT, out, 1, MPI_INT, 1, comm); }),
      gives("MPI_Allgather_c", check_ranks, [=] { MPI_Allgather_c(in, 1, MPI_INT, out, 1, MPI_INT, comm); }),
      gives("MPI_Allgatherv_c", check_ranks,
            [=] { MPI_Allgatherv_c(in, 1, MPI_INT, out, all_ones, at, MPI_INT, comm); }),
      gives("MPI_Alltoall_c", check_ranks, [=] { MPI_Alltoall_c(in, 1, MPI_INT, out, 1, MPI_INT, comm); }),
      gives("MPI_Alltoallv_c", check_ranks,
            [=] { MPI_Alltoallv_c(in, all_ones, at, MPI_INT, out, all_ones, at, MPI_INT, comm); }),
      gives("MPI_Alltoallw_c", check_ranks,
            [=] { MPI_Alltoallw_c(in, all_ones, at_bytes, ints, out, all_ones, at_bytes, ints, comm); }),
      gives_root("MPI_Reduce_c", check_sum_of_all, [=] { MPI_Reduce_c(in, out, 1, MPI_INT, MPI_SUM, 0, comm); }),
      gives("MPI_Allreduce_c", check_sum_of_all, [=] { MPI_Allreduce_c(in, out, 1, MPI_INT, MPI_SUM, comm); }),
      gives("MPI_Reduce_scatter_c", check_sum_of_all,
            [=] { MPI_Reduce_scatter_c(in, out, all_ones, MPI_INT, MPI_SUM, comm); }),
      gives("MPI_Reduce_scatter_block_c", check_sum_of_all,
            [=] { MPI_Reduce_scatter_block_c(in, out, 1, MPI_INT, MPI_SUM, comm); }),
      // Rank 0 sends without waiting for others.
      collective("MPI_Scan_c, MPI_Exscan_c, MPI_Barrier",
                 [=] {
                   MPI_Scan_c(in, out, 1, MPI_INT, MPI_SUM, comm);
                   check_sum(rank() + 1);
                   MPI_Exscan_c(in, out, 1, MPI_INT, MPI_SUM, comm);
                   if (rank() > 0) check_sum(rank());
                   MPI_Barrier(comm);
                 }),
      with_neighbors("MPI_Neighbor_allgather_c",
                     [=] { MPI_Neighbor_allgather_c(in, 1, MPI_INT, out, 1, MPI_INT, ring); }),
      with_neighbors("MPI_Neighbor_allgatherv_c",
                     [=] { MPI_Neighbor_allgatherv_c(in, 1, MPI_INT, out, both, at, MPI_INT, ring); }),
      with_neighbors("MPI_Neighbor_alltoall_c",
                     [=] { MPI_Neighbor_alltoall_c(in, 1, MPI_INT, out, 1, MPI_INT, ring); }),
      with_neighbors("MPI_Neighbor_alltoallv_c",
                     [=] { MPI_Neighbor_alltoallv_c(in, both, at, MPI_INT, out, both, at, MPI_INT, ring); }),
      with_neighbors("MPI_Neighbor_alltoallw_c",
                     [=] {
                       MPI_Neighbor_alltoallw_c(in, both, at_bytes, two_types.data(), out, both, at_bytes,
                                                two_types.data(), ring);
                     }),
      receives(
          "MPI_Recv_c", [] { MPI_Recv_c(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); },
          [] { MPI_Send_c(&sent, 1, MPI_INT, 0, tag, MPI_COMM_WORLD); }),
      {"MPI_Ssend_c", [] { MPI_Ssend_c(&sent, 1, MPI_INT, 1, tag, MPI_COMM_WORLD); }, receive},
      receives("MPI_Mrecv_c",
               [] {
                 MPI_Message message = MPI_MESSAGE_NULL;
                 MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
                 MPI_Mrecv_c(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
               }),
      {"MPI_Recv, MPI_Rsend_c",
       [] {
         MPI_Recv(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
         check_received();
         MPI_Rsend_c(&sent, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
       },
       [] {
         received = 0;
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Irecv(&received, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
         send();
         MPI_Wait(&request, MPI_STATUS_IGNORE);
         check_received();
       }},
      receives(
          "MPI_Sendrecv_c",
          [] {
            MPI_Sendrecv_c(&sent, 1, MPI_INT, 1, tag, &received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          },
          receive_and_send),
      replaces("MPI_Sendrecv_replace_c",
               [](int* value) {
                 MPI_Sendrecv_replace_c(value, 1, MPI_INT, 1, tag, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               }),
  };
}

#else

std::vector<blocking_call> large_counts(MPI_Comm, MPI_Comm) { return {}; }

#endif

/// Files, of which the handle alone names the members, and two groups that make an inter-communicator.
std::vector<blocking_call> others(MPI_Comm comm, const std::string& path) {
  static MPI_File file = MPI_FILE_NULL;
  static MPI_Comm half = MPI_COMM_NULL, both = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_split(comm, rank() == 0 ? 0 : 1, 0, &half);
  return {
    collective("MPI_File_open",
               [=] {
                 CHECK(MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                     MPI_INFO_NULL, &file) == MPI_SUCCESS);
               }),
        collective("MPI_File_set_view", [] { MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); }),
        collective("MPI_File_write_at_all",
                   [] { MPI_File_write_at_all(file, rank(), from.data(), 1, MPI_INT, MPI_STATUS_IGNORE); }),
        collective("MPI_File_sync", [] { MPI_File_sync(file); }),
        collective("MPI_File_read_at_all",
                   [] {
                     MPI_File_read_at_all(file, 0, to.data(), size(), MPI_INT, MPI_STATUS_IGNORE);
                     for (int other = 0; other < size(); ++other) CHECK(to[static_cast<std::size_t>(other)] == other);
                   }),
#if MPI_VERSION >= 4
        collective("MPI_File_write_at_all_c",
                   [] {
                     const int value = 10 * rank();
                     MPI_File_write_at_all_c(file, rank(), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
                     MPI_File_sync(file);
                   }),
        collective("MPI_File_read_at_all_c",
                   [] {
                     MPI_File_read_at_all_c(file, 0, to.data(), size(), MPI_INT, MPI_STATUS_IGNORE);
                     for (int other = 0; other < size(); ++other)
                       CHECK(to[static_cast<std::size_t>(other)] == 10 * other);
                   }),
#endif
        collective("MPI_File_close", [] { MPI_File_close(&file); }),
        collective("MPI_Intercomm_create",
                   [=] { MPI_Intercomm_create(half, 0, comm, rank() == 0 ? 1 : 0, tag, &both); }),
        collective("MPI_Barrier of an inter-communicator", [] { MPI_Barrier(both); }),
        collective("MPI_Intercomm_merge",
                   [] {
                     MPI_Comm merged = MPI_COMM_NULL;
                     MPI_Intercomm_merge(both, 0, &merged);
                     MPI_Comm_free(&merged);
                     MPI_Comm_free(&both);
                     MPI_Comm_free(&half);
                   }),
        collective("MPI_Comm_disconnect", [] { MPI_Comm_disconnect(&copy); }),
  };
}

}  // namespace

/// The argument is a path for a file.
int main(int argc, char** argv) {
  const program::session running(argc, argv);
  CHECK(argc == 2 && size() >= 2);
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  const int extent = size(), periodic = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &periodic, 0, &ring);

  std::vector<blocking_call> calls = collectives(MPI_COMM_WORLD, ring);
  for (const auto& more : {communicators(MPI_COMM_WORLD, ring), point_to_point(), large_counts(MPI_COMM_WORLD, ring),
                           others(MPI_COMM_WORLD, argv[1])})
    calls.insert(calls.end(), more.begin(), more.end());
  int number = 0;
  for (const blocking_call& call : calls) {
    ++number;
    step = call.name;
    if (rank() == 0) {
      call.target();
      int value = 0;
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
      MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_unlock(0, win);
      CHECK(value == number);
    } else if (rank() == 1) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_flush(0, win);
      MPI_Win_unlock(0, win);
      call.origin();
    } else if (call.others) {
      call.others();
    }
    MPI_Barrier(MPI_COMM_WORLD);  // before rank 1 puts again
  }
  step = "the end";
  MPI_Comm_free(&ring);
  MPI_Win_free(&win);
  if (std::getenv("AMITY_TEST_VERBOSE") != nullptr) std::printf("%d calls\n", number);
}
