#include "amity/fabric/mpi/group.hpp"

#include <sched.h>

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::mpi {
namespace {

/// `crowded`: the ranks of this node are more than its CPUs. A look without pauses takes the memory of a message away
/// from its writer. No rank can wake another one through MPI.
backoff backoff_of(bool crowded) {
  backoff how{.looks = 300, .pauses = 3, .yields = 50, .sleep_ns_min = 50'000, .sleep_ns_max = 1'000'000};
  if (crowded) {
    how.looks = 4;
    how.yields = 300;
  }
  return how;
}

}  // namespace

group::group(const library& mpi, amity_mpi_comm parent, const settings& config, rank_t threads)
    : mpi_(*mpi),
      threads_(threads),
      caps_(describe(config, mpi.version())),
      control_(mpi->no_comm),
      notice_(mpi->no_request) {
  if (mpi_.is_intercommunicator(parent)) {
    throw error("AMITY_FABRIC=mpi", no_rank, "an intercommunicator has two groups of ranks",
                "merge it with MPI_Intercomm_merge first");
  }
  control_ = mpi_.copy(parent);
  rank_ = mpi_.rank(control_);
  size_ = mpi_.size(control_);
  try {
    check_settings(config);
  } catch (...) {
    mpi_.free_comm(&control_);
    throw;
  }
  for (rank_t thread = 0; thread < threads; ++thread) communicators_.push_back(mpi_.copy(parent));
  look_at_nodes();
  mpi_.post_notice(control_, &notice_);
}

group::~group() {
  // Other processes may still use the communicators, so these are not freed here.
  if (notice_.value != mpi_.no_request.value) mpi_.cancel(&notice_);
}

void group::free_communicators() noexcept {
  if (notice_.value != mpi_.no_request.value) mpi_.cancel(&notice_);
  for (amity_mpi_comm& each : communicators_) mpi_.free_comm(&each);
  mpi_.free_comm(&control_);
}

void group::check_settings(const settings& config) const {
  constexpr std::array names{"AMITY_MPI_CREDITS", "AMITY_MPI_PACKET_BYTES", "AMITY_THREADS", "AMITY_PROGRESS_THREAD"};
  std::array<std::int64_t, 2 * names.size()> bounds{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    bounds[2 * i] = config.integer(names[i]);
    bounds[2 * i + 1] = -config.integer(names[i]);
  }
  mpi_.all_max(bounds.data(), static_cast<int>(bounds.size()), control_);
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
  amity_mpi_comm node = mpi_.split_nodes(control_, rank_);
  rank_t lowest = rank_;
  mpi_.broadcast(&lowest, node);
  nodes_.resize(static_cast<std::size_t>(size_));
  mpi_.all_gather(lowest, nodes_.data(), control_);

  // Launchers bind each process to some CPUs: what counts is how many they have together.
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const bool known = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  mpi_.all_or(&cpus, sizeof cpus, node);
  caps_.backoff = backoff_of(known && mpi_.size(node) * threads_ > CPU_COUNT(&cpus));
  mpi_.free_comm(&node);
}

void group::abort() noexcept {
  abort_here();
  if (told_.exchange(true)) return;
  for (rank_t peer = 0; peer < size_; ++peer) {
    if (peer != rank_) mpi_.notify(peer, control_);  // not awaited: a peer may never poll again
  }
}

void group::kill(int status) noexcept {
  mpi_.abort(control_.value == mpi_.no_comm.value ? mpi_.world : control_, status);
  std::abort();
}

bool group::aborted() noexcept {
  if (known_aborted()) return true;
  const std::unique_lock lock(notice_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // another thread is asking
  if (mpi_.test(&notice_)) abort_here();
  return known_aborted();
}

}  // namespace amity::fabric::mpi
