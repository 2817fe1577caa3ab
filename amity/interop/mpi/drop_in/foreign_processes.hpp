#pragma once

/// Communicators that have processes of other jobs, which an MPI program meets by MPI_Comm_spawn or MPI_Comm_connect.
///
/// These processes may run without this library. They call blocking collectives as they are, so all members must.

#include <atomic>

#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// Any thread may call it.
class foreign_processes : private immovable {
 public:
  /// MPI is initialized.
  foreign_processes();

  /// Whether a process of the communicator, an inter-communicator included, is not in MPI_COMM_WORLD. All members find
  /// the same. Takes a nanosecond as long as the process has met no other job.
  bool are_in(MPI_Comm comm) const { return met_.load(std::memory_order_relaxed) && are_found_in(comm); }
  /// Processes of the communicator that are not in MPI_COMM_WORLD, without those of a remote group.
  static int count_in(MPI_Comm comm);
  /// A call has made communicators that may have some.
  void note() noexcept { met_.store(true, std::memory_order_relaxed); }
  /// A call has made this communicator.
  void note(MPI_Comm made) {
    if (!met_.load(std::memory_order_relaxed) && are_found_in(made)) note();
  }

 private:
  static bool are_found_in(MPI_Comm comm);

  std::atomic<bool> met_ = false;
};

}  // namespace amity::mpi
