/// An MPI program that lets amity run in its communicators: it ends with 0 if all is as it should be.
///
/// Or, as mpi_communicators LEVEL [THREAD]: with MPI at this thread level, amity is run as the environment asks, on the
/// main thread unless another word follows; ends with amity's status. Or, as mpi_communicators job: leaves all to
/// amity::run.

#include <amity/interop/mpi/run.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "amity/amity.hpp"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "mpi_communicators: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

amity::settings with_threads(int threads) {
  amity::settings config;
  config.set("AMITY_THREADS", std::to_string(threads));
  return config;
}

/// Every rank sends every other one a few messages, from each of its threads.
void exchange(MPI_Comm communicator, int threads) {
  bool ran = false;
  const int status = amity::mpi::run(communicator, with_threads(threads), [&](amity::world& w) {
    ran = true;
    require(w.rank() == rank_in(communicator) && w.size() == size_of(communicator), "the world has other ranks");
    std::uint64_t handled = 0;
    {
      auto message = w.message<std::uint64_t>([&](const std::uint64_t& value) { handled += value; });
      w.epoch([&](amity::thread& own) {
        for (amity::rank_t peer = 0; peer < w.size(); ++peer) message.on(own).send(peer, std::uint64_t{1});
      });
    }
    require(handled == static_cast<std::uint64_t>(w.size()) * static_cast<std::uint64_t>(threads),
            "messages are missing");
  });
  require(ran && status == 0, "the program did not run, or failed");
}

/// Amity's messages are not taken for the program's, nor the other way round.
void keeps_apart() {
  const int rank = rank_in(MPI_COMM_WORLD);
  int arrived = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&arrived, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  exchange(MPI_COMM_WORLD, 1);
  require(arrived == -1, "a receive of the program's has got a message of amity's");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size_of(MPI_COMM_WORLD), 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(arrived == (rank + size_of(MPI_COMM_WORLD) - 1) % size_of(MPI_COMM_WORLD), "a message has changed");
}

/// A world that fails on one rank ends on all, and leaves MPI as it was.
void failure_ends_the_world() {
  const int status = amity::mpi::run(MPI_COMM_WORLD, amity::settings{}, [&](amity::world& w) {
    if (w.rank() == w.size() - 1) throw std::runtime_error("as it should");
    w.barrier();
  });
  require(status == 1, "the failure was lost");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The last rank's program ends with 5.
int end_with_a_status() {
  MPI_Init(nullptr, nullptr);
  const int status = amity::mpi::run(MPI_COMM_WORLD, [](amity::world& w) {
    if (w.rank() == w.size() - 1) return 5;
    w.barrier();
    return 0;
  });
  require(status != 0, "the status was lost");
  MPI_Finalize();
  return status;
}

int run_at_level(const std::string& name, bool on_main_thread) {
  int level = name == "single" ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
  MPI_Init_thread(nullptr, nullptr, level, &level);
  int status = 0;
  const auto run = [&] { status = amity::mpi::run(MPI_COMM_WORLD, [](amity::world& w) { w.barrier(); }); };
  if (on_main_thread) {
    run();
  } else {
    std::thread(run).join();
  }
  MPI_Finalize();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "status") return end_with_a_status();
  if (argc > 1 && std::string_view(argv[1]) == "job") {
    return amity::run(argc, argv, [](amity::world& w) { std::printf("rank %d of %d\n", w.rank(), w.size()); });
  }
  if (argc > 1) return run_at_level(argv[1], argc == 2);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int rank = rank_in(MPI_COMM_WORLD);
  keeps_apart();
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  exchange(half, 1);
  if (level == MPI_THREAD_MULTIPLE) exchange(half, 2);
  MPI_Comm_free(&half);
  failure_ends_the_world();
  exchange(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
