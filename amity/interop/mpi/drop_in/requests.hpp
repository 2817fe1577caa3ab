#pragma once

/// Requests of one-sided operations that have no local completion yet. The program sees generalized requests of the
/// MPI. They become complete in calls of the program alone, because other threads must not call the MPI.

#include <atomic>
#include <cstddef>
#include <vector>

#include <mpi.h>

#include "amity/base/function_ref.hpp"
#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"
#include "amity/interop/mpi/drop_in/window.hpp"

namespace amity::mpi {

/// Any thread of the program may call it.
class pending_requests final : private immovable {
 public:
  explicit pending_requests(job& in) : job_(in) {}

  /// A request for what this process has begun on a member, which is complete if that has local completion. None:
  /// MPI_PROC_NULL, and complete.
  MPI_Request make(window& on, int rank);
  /// Whether there are requests that are not complete.
  bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  /// Completes those whose operations have local completion.
  void complete_ready() {
    if (any()) complete_ready_ones();
  }
  /// Completes all requests of a window that ends.
  void end(const window& of);

 private:
  struct pending {
    window* on;
    rank_t member;
    MPI_Request request;
  };
  void complete_ready_ones();
  void complete_if(function_ref<bool(const pending&)> is_done);

  job& job_;
  std::vector<pending> all_;  ///< for threads inside the engine
  std::atomic<bool> any_ = false;
};

}  // namespace amity::mpi
