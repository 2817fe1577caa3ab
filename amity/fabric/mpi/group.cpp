#include "amity/fabric/mpi/group.hpp"

#include <sched.h>

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::mpi {
namespace {

MPI_Comm copy_of(MPI_Comm parent) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &made);
  // What a program asks of its own communicators is not for ours: nobody would look at what the calls return.
  MPI_Comm_set_errhandler(made, MPI_ERRORS_ARE_FATAL);
  return made;
}

}  // namespace

group::group(MPI_Comm parent, const settings& config, rank_t threads) : threads_(threads), caps_(describe(config)) {
  int inter = 0;
  MPI_Comm_test_inter(parent, &inter);
  if (inter) {
    throw error("AMITY_FABRIC=mpi", no_rank, "an intercommunicator has two groups of ranks",
                "merge it with MPI_Intercomm_merge first");
  }
  control_ = copy_of(parent);
  MPI_Comm_rank(control_, &rank_);
  MPI_Comm_size(control_, &size_);
  try {
    check_settings(config);
  } catch (...) {
    MPI_Comm_free(&control_);
    throw;
  }
  for (rank_t thread = 0; thread < threads; ++thread) communicators_.push_back(copy_of(parent));
  look_at_nodes();
  MPI_Irecv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, control_, &notice_);
}

group::~group() {
  if (notice_ == MPI_REQUEST_NULL) return;
  // What the others still do with the communicators is theirs to know.
  MPI_Cancel(&notice_);
  MPI_Wait(&notice_, MPI_STATUS_IGNORE);
}

void group::free_communicators() noexcept {
  if (notice_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&notice_);
    MPI_Wait(&notice_, MPI_STATUS_IGNORE);
  }
  for (MPI_Comm& each : communicators_) MPI_Comm_free(&each);
  MPI_Comm_free(&control_);
}

void group::check_settings(const settings& config) const {
  constexpr std::array names{"AMITY_MPI_CREDITS", "AMITY_MPI_PACKET_BYTES", "AMITY_THREADS", "AMITY_PROGRESS_THREAD"};
  std::array<std::int64_t, 2 * names.size()> bounds{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    bounds[2 * i] = config.integer(names[i]);
    bounds[2 * i + 1] = -config.integer(names[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, bounds.data(), static_cast<int>(bounds.size()), MPI_INT64_T, MPI_MAX, control_);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (bounds[2 * i] == -bounds[2 * i + 1]) continue;
    throw error("AMITY_FABRIC=mpi", rank_,
                fmt::format("{} is {} here, but {} to {} on the ranks of the job", names[i], config.value(names[i]),
                            -bounds[2 * i + 1], bounds[2 * i]),
                fmt::format("give all ranks the same {} (Open MPI: mpirun -x {}=...; MPICH: mpiexec -genv {} ...)",
                            names[i], names[i], names[i]));
  }
}

void group::look_at_nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(control_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  rank_t lowest = rank_;
  MPI_Bcast(&lowest, 1, MPI_INT32_T, 0, node);
  nodes_.resize(static_cast<std::size_t>(size_));
  MPI_Allgather(&lowest, 1, MPI_INT32_T, nodes_.data(), 1, MPI_INT32_T, control_);

  // Launchers bind each process to some CPUs: what counts is how many they have together.
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const bool known = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  MPI_Allreduce(MPI_IN_PLACE, &cpus, sizeof cpus, MPI_BYTE, MPI_BOR, node);
  int processes = 1;
  MPI_Comm_size(node, &processes);
  crowded_ = known && processes * threads_ > CPU_COUNT(&cpus);
  MPI_Comm_free(&node);
}

void group::abort() noexcept {
  abort_here();
  if (told_.exchange(true)) return;
  for (rank_t peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, peer, 0, control_, &sent);
    MPI_Request_free(&sent);  // nobody waits for it: a peer may never look
  }
}

void group::kill(int status) noexcept {
  MPI_Abort(control_ == MPI_COMM_NULL ? MPI_COMM_WORLD : control_, status);
  std::abort();
}

bool group::aborted() noexcept {
  if (known_aborted()) return true;
  const std::unique_lock lock(notice_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // another thread is asking
  int told = 0;
  MPI_Test(&notice_, &told, MPI_STATUS_IGNORE);
  if (told && !known_aborted()) abort_here();
  return known_aborted();
}

}  // namespace amity::fabric::mpi
