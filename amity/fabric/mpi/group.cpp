#include "amity/fabric/mpi/group.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/fabric/mpi/mpi.hpp"
#include "amity/fabric/node.hpp"

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

/// FNV-1a hash, which has the same value in all processes.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return hash;
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
  look_at_nodes(config);
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

void group::look_at_nodes(const settings& config) {
  // A node is what it is for the other fabrics. MPI_Comm_split_type would answer the same, but its waits do not yield.
  const std::vector<std::size_t> cpus = allowed_cpus().numbers();
  std::int64_t words = cpus.empty() ? 0 : static_cast<std::int64_t>(cpus.back() / 64 + 1);
  mpi_.all_max(&words, 1, control_);

  // Each process contributes its node and the bits of its CPUs. A launcher may bind each process to a few CPUs: the
  // processes of a node have as many CPUs as the union of their bits.
  const std::size_t stride = 1 + static_cast<std::size_t>(words);
  std::vector<std::uint64_t> own(stride);
  own[0] = hash_of(node_identity(config.text("AMITY_NODE")));
  for (const std::size_t cpu : cpus) own[1 + cpu / 64] |= std::uint64_t{1} << cpu % 64;
  std::vector<std::uint64_t> all(stride * static_cast<std::size_t>(size_));
  mpi_.all_gather(own.data(), static_cast<int>(stride * sizeof(std::uint64_t)), all.data(), control_);

  std::unordered_map<std::uint64_t, rank_t> lowest;
  std::int64_t ranks_here = 0;
  std::vector<std::uint64_t> cpus_here(stride);
  for (rank_t process = 0; process < size_; ++process) {
    const auto theirs = std::span(all).subspan(static_cast<std::size_t>(process) * stride, stride);
    nodes_.push_back(lowest.try_emplace(theirs[0], process).first->second);
    if (theirs[0] != own[0]) continue;
    ++ranks_here;
    for (std::size_t word = 1; word < stride; ++word) cpus_here[word] |= theirs[word];
  }
  const auto bits =
      cpus_here | std::views::drop(1) | std::views::transform([](auto word) { return std::popcount(word); });
  const std::int64_t cpu_count = std::accumulate(bits.begin(), bits.end(), std::int64_t{0});
  caps_.backoff = backoff_of(ranks_here * threads_ > cpu_count);
}

void group::abort() noexcept {
  abort_here();
  if (told_.exchange(true)) return;
  for (rank_t peer = 0; peer < size_; ++peer) {
    if (peer != rank_) mpi_.notify(peer, control_);  // not awaited: a peer may never poll again
  }
}

void group::kill(int status) noexcept {
  drain_standard_error();
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
