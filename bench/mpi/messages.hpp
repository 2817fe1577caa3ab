#pragma once

/// Calls of MPI that do not concern windows: messages and collectives.

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "bench/mpi/measure.hpp"

namespace mpi_program {

/// Half a round trip of messages of `bytes` between ranks 0 and 1, in nanoseconds. `exchange(buffer, bytes, peer,
/// begins)` sends one message and receives one; the rank that begins sends first.
template <class Exchange>
double half_round_trip_ns(int me, int bytes, int batches, int count, Exchange exchange) {
  std::vector<char> buffer(static_cast<std::size_t>(bytes), static_cast<char>(1 + me));
  const double ns = median_of(batches, [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    return each_ns(count, [&](int) { exchange(buffer.data(), bytes, 1 - me, me == 0); });
  });
  expect(buffer.front() == 1 && buffer.back() == 1, "message");  // that of rank 0, in the buffers of both
  return ns / 2;
}

/// MPI_Send and MPI_Recv.
inline void send_recv(char* buffer, int bytes, int peer, bool begins) {
  if (begins) MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!begins) MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
}

/// MPI_Isend and MPI_Irecv, each with MPI_Waitall.
inline void isend_irecv(char* buffer, int bytes, int peer, bool begins) {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto send = [&] {
    MPI_Isend(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  };
  if (begins) send();
  MPI_Irecv(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  if (!begins) send();
}

/// MPI_Send, MPI_Irecv, and calls of MPI_Test until the message is there.
inline void send_test(char* buffer, int bytes, int peer, bool begins) {
  if (begins) MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
  for (int complete = 0; complete == 0;) MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  if (!begins) MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
}

/// COUNT messages or collectives in a batch, and a tenth as many messages of 64 KiB. On two ranks.
inline sample measure_messages(int me, int batches, int count) {
  constexpr int small = 8, large = 64 << 10;
  const auto collective_ns = [&](auto call) {
    return median_of(batches, [&] {
      MPI_Barrier(MPI_COMM_WORLD);
      return each_ns(count, [&](int) { call(); });
    });
  };
  sample result{{"send_8_ns", half_round_trip_ns(me, small, batches, count, send_recv)},
                {"send_64k_ns", half_round_trip_ns(me, large, batches, (count + 9) / 10, send_recv)},
                {"waitall_8_ns", half_round_trip_ns(me, small, batches, count, isend_irecv)},
                {"test_8_ns", half_round_trip_ns(me, small, batches, count, send_test)},
                {"barrier_ns", collective_ns([] { MPI_Barrier(MPI_COMM_WORLD); })}};
  double sum = 0;
  result["allreduce_ns"] = collective_ns([&] {
    const double one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  });
  expect(sum == 2, "sum");
  return result;
}

}  // namespace mpi_program
