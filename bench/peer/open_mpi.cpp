/// The peer: MPI_Send and MPI_Recv between two processes, as the benchmarks of active messages do it with amity.
///
/// Usage: mpirun -n 2 amity_bench_open_mpi BATCHES ROUND_TRIPS FLOOD BYTES...
///        mpirun -n 2 amity_bench_open_mpi stream BATCHES WINDOWS
/// Prints one JSON object: `ping_pong_N_ns`, the one-way time for each size N, the median of the batches; and if FLOOD
/// is not 0 `flood_N_m_per_s`, millions of messages per second that go one way when FLOOD of them are sent, for N =
/// 8, 48. With `stream` it is `stream_gbps`, GB/s of nonblocking sends of 1 MiB, of which a window of 64 is under way
/// at once and is answered when it has arrived.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int tag = 0;

void send(int to, const std::vector<char>& payload) {
  MPI_Send(payload.data(), static_cast<int>(payload.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

void receive(int from, std::vector<char>& payload) {
  MPI_Recv(payload.data(), static_cast<int>(payload.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Mean one-way time of a batch in nanoseconds.
double ping_pong_ns(int me, int round_trips, const std::vector<char>& out, std::vector<char>& in) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < round_trips; ++i) {
    if (me == 0) send(1, out);
    receive(1 - me, in);
    if (me == 1) send(0, out);
  }
  return (MPI_Wtime() - begin) / (2.0 * round_trips) * 1e9;
}

double flood_m_per_s(int me, int messages, const std::vector<char>& out, std::vector<char>& in) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < messages; ++i) {
    if (me == 0) {
      send(1, out);
    } else {
      receive(0, in);
    }
  }
  // The clock stops when the last message has arrived, not when it has been sent.
  if (me == 0) {
    receive(1, in);
  } else {
    send(0, out);
  }
  return messages / (MPI_Wtime() - begin) * 1e-6;
}

double stream_gbps(int me, int windows, std::vector<char>& memory) {
  constexpr int window = 64;
  const int bytes = static_cast<int>(memory.size()) / window;
  std::vector<char> answer(1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < windows; ++i) {
    MPI_Request requests[window];
    for (int slot = 0; slot < window; ++slot) {
      char* const place = memory.data() + std::ptrdiff_t{slot} * bytes;
      if (me == 0) {
        MPI_Isend(place, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &requests[slot]);
      } else {
        MPI_Irecv(place, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[slot]);
      }
    }
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (me == 0) {
      receive(1, answer);
    } else {
      send(0, answer);
    }
  }
  return static_cast<double>(memory.size()) * windows / (MPI_Wtime() - begin) * 1e-9;
}

template <class Batch>
double median_of(int batches, Batch&& batch) {
  std::vector<double> values(static_cast<std::size_t>(batches));
  std::generate(values.begin(), values.end(), batch);
  std::nth_element(values.begin(), values.begin() + batches / 2, values.end());
  return values[static_cast<std::size_t>(batches / 2)];
}

/// A wrong answer has no time.
void check(const std::vector<char>& in, const std::vector<char>& out) {
  if (in == out) return;
  std::fprintf(stderr, "open_mpi: wrong payload\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::string measure(int me, int batches, int round_trips, int flood, const std::vector<int>& sizes) {
  std::string json;
  const auto add = [&](const std::string& name, double value) {
    json += (json.empty() ? "{\"" : ", \"") + name + "\": " + std::to_string(value);
  };
  for (const int bytes : sizes) {
    const std::vector<char> out(static_cast<std::size_t>(bytes), 'x');
    std::vector<char> in(out.size());
    add("ping_pong_" + std::to_string(bytes) + "_ns",
        median_of(batches, [&] { return ping_pong_ns(me, round_trips, out, in); }));
    check(in, out);
  }
  for (const int bytes : {8, 48}) {
    if (flood == 0) break;
    const std::vector<char> out(static_cast<std::size_t>(bytes), 'x');
    std::vector<char> in(out.size());
    add("flood_" + std::to_string(bytes) + "_m_per_s",
        median_of(batches, [&] { return flood_m_per_s(me, flood, out, in); }));
    check(in, out);
  }
  return json + '}';
}

std::string measure_stream(int me, int batches, int windows) {
  std::vector<char> memory(std::size_t{64} << 20, me == 0 ? 'x' : ' ');
  const double gbps = median_of(batches, [&] { return stream_gbps(me, windows, memory); });
  check(memory, std::vector<char>(memory.size(), 'x'));
  return "{\"stream_gbps\": " + std::to_string(gbps) + '}';
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool stream = argc == 4 && std::string(argv[1]) == "stream";
  if (ranks != 2 || (argc < 5 && !stream)) {
    std::fprintf(stderr, "usage: mpirun -n 2 %s BATCHES ROUND_TRIPS FLOOD BYTES...\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  std::vector<int> sizes;
  for (int i = 4; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  const auto json = stream ? measure_stream(me, std::atoi(argv[2]), std::atoi(argv[3]))
                           : measure(me, std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), sizes);
  if (me == 0) std::printf("%s\n", json.c_str());
  MPI_Finalize();
  return 0;
}
