#include "amity/interop/mpi/drop_in/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/yielder.hpp"
#include "amity/fabric/node.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"
#include "amity/interop/mpi/drop_in/nested_calls.hpp"

namespace amity::mpi {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw error("amity mpi", no_rank, fmt::format("{} of the MPI has failed with error code {}", call, code),
              "set AMITY_MPI=0 to run the program without amity");
}

/// Waits for a collective of the start-up. The blocking forms of MPICH do not yield: with more processes than CPUs,
/// each would keep its CPU for a time slice, so that the processes that it waits for cannot run. The engine, whose wait
/// others use, does not exist yet.
void finish(MPI_Request& request, const char* call) {
  yielder cpu;
  for (;;) {
    int done = 0;
    check(native::test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    cpu.yield_or_doze();
  }
}

/// Gathers one number of each process. Collective.
std::vector<int> gather_numbers(int own, rank_t processes, MPI_Comm comm) {
  std::vector<int> each(static_cast<std::size_t>(processes));
  MPI_Request request = MPI_REQUEST_NULL;
  check(native::iallgather(&own, 1, MPI_INT, each.data(), 1, MPI_INT, comm, &request), "MPI_Iallgather");
  finish(request, "MPI_Iallgather");
  return each;
}

/// What processes must have in common to use one another's memory.
std::string describe_process() {
  return fmt::format("libamity-mpi {}, {}-endian, addresses of {} bits, long double with {} digits", AMITY_VERSION,
                     std::endian::native == std::endian::little ? "little" : "big", 8 * sizeof(void*),
                     std::numeric_limits<long double>::digits);
}

}  // namespace

bootstrap::bootstrap(const settings& config) {
  set_node(fabric::node_identity(config.text("AMITY_NODE")));
  MPI_Request request = MPI_REQUEST_NULL;
  check(native::comm_idup(MPI_COMM_WORLD, &world_, &request), "MPI_Comm_idup");
  finish(request, "MPI_Comm_idup");
  native::comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  check(native::comm_rank(world_, &rank_), "MPI_Comm_rank");
  check(native::comm_size(world_, &size_), "MPI_Comm_size");
}

bootstrap::~bootstrap() {
  int ended = 0;
  native::finalized(&ended);
  if (ended == 0) native::comm_free(&world_);
}

// The windows cannot be left to the MPI: a process of Open MPI that is switched on has chosen other windows.
bool bootstrap::is_switched_on(bool here) {
  const std::vector<int> each = gather_numbers(here ? 1 : 0, size_, world_);
  const auto other = std::ranges::find(each, 1 - each.front());
  if (other == each.end()) return here;
  if (rank_ != 0) {  // until the job ends
    MPI_Request request = MPI_REQUEST_NULL;
    check(native::ibarrier(world_, &request), "MPI_Ibarrier");
    finish(request, "MPI_Ibarrier");
  }
  throw error("AMITY_MPI", no_rank,
              fmt::format("it is {} on rank 0 and {} on rank {}", each.front(), *other, other - each.begin()),
              "set it to the same value for all processes");
}

std::optional<std::string> bootstrap::find_difference() {
  const std::vector<std::string> each = all_gather(describe_process());
  const auto other = std::ranges::find_if(each, [&](const std::string& about) { return about != each.front(); });
  if (other == each.end()) return std::nullopt;
  return fmt::format("rank {} has {}; rank 0 has {}", other - each.begin(), *other, each.front());
}

// No message is ever there, so each MPI makes progress.
void bootstrap::poll_mpi() noexcept {
  const nested_calls of_mpi;
  int is_there = 0;
  native::iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world_, &is_there, MPI_STATUS_IGNORE);
}

std::vector<std::string> bootstrap::all_gather(std::string_view mine) {
  const auto count = static_cast<std::size_t>(size_);
  const int own_bytes = static_cast<int>(mine.size());
  const std::vector<int> bytes = gather_numbers(own_bytes, size_, world_);
  std::vector<int> places(count);
  std::exclusive_scan(bytes.begin(), bytes.end(), places.begin(), 0);
  std::string all(static_cast<std::size_t>(places.back() + bytes.back()), '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  check(native::iallgatherv(mine.data(), own_bytes, MPI_BYTE, all.data(), bytes.data(), places.data(), MPI_BYTE, world_,
                            &request),
        "MPI_Iallgatherv");
  finish(request, "MPI_Iallgatherv");
  std::vector<std::string> each;
  for (std::size_t rank = 0; rank < count; ++rank)
    each.push_back(all.substr(static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(bytes[rank])));
  return each;
}

}  // namespace amity::mpi
