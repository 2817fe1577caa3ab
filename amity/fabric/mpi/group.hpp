#pragma once

/// The processes of a job, and what the lanes of this one share.

#include <atomic>
#include <mutex>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/mpi/library.hpp"

namespace amity::fabric::mpi {

/// Made and ended by all processes together, unless the job is lost: then nobody waits for the others any more.
class group : private immovable {
 public:
  /// Collective over `parent`. Throws `error` on all processes if their settings differ.
  group(const library& mpi, amity_mpi_comm parent, const settings& config, rank_t threads);
  ~group();

  /// The calls that the processes make together at the end of a job that went well.
  void free_communicators() noexcept;

  const amity_mpi_module& mpi() const noexcept { return mpi_; }

  rank_t rank() const noexcept { return rank_; }
  rank_t size() const noexcept { return size_; }
  rank_t threads() const noexcept { return threads_; }
  rank_t lanes() const noexcept { return size_ * threads_; }
  const capabilities& caps() const noexcept { return caps_; }

  /// Where a lane is. Messages are too short for a division where there is nothing to divide.
  struct place {
    rank_t process;
    rank_t thread;
  };
  place place_of(rank_t lane) const noexcept {
    if (threads_ == 1) return {lane, 0};
    return {lane / threads_, lane % threads_};
  }
  /// Named by its lowest lane, as those are ranks of the fabric.
  rank_t node_of(rank_t lane) const noexcept { return nodes_[static_cast<std::size_t>(lane / threads_)] * threads_; }

  /// On which all messages to this thread of each process travel.
  amity_mpi_comm communicator(rank_t thread) const noexcept { return communicators_[static_cast<std::size_t>(thread)]; }

  /// Ends the waits of this process, of the others as well, or all at once. From any thread.
  void abort_here() noexcept { aborted_.store(true, std::memory_order_relaxed); }
  void abort() noexcept;
  [[noreturn]] void kill(int status) noexcept;

  /// Also asks MPI whether another process has aborted the job. From any thread.
  bool aborted() noexcept;

 private:
  bool known_aborted() const noexcept { return aborted_.load(std::memory_order_relaxed); }
  void check_settings(const settings& config) const;
  void look_at_nodes(const settings& config);

  const amity_mpi_module& mpi_;
  rank_t rank_ = 0;
  rank_t size_ = 0;
  rank_t threads_;
  capabilities caps_;
  std::vector<amity_mpi_comm> communicators_;
  amity_mpi_comm control_;
  std::vector<rank_t> nodes_;  ///< of each process

  std::mutex notice_mutex_;
  amity_mpi_request notice_;  ///< complete when another process has aborted the job
  std::atomic<bool> aborted_ = false;
  std::atomic<bool> told_ = false;
};

}  // namespace amity::fabric::mpi
