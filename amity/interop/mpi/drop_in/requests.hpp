#pragma once

/// Requests of one-sided operations that have no local completion yet. The program sees generalized requests of the
/// MPI.

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "amity/base/function_ref.hpp"
#include "amity/base/types.hpp"
#include "amity/core/flushable.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"
#include "amity/interop/mpi/drop_in/window.hpp"

namespace amity::mpi {

class pending_requests final : private core::progress_client, private immovable {
 public:
  explicit pending_requests(job& in) : job_(in) {}
  ~pending_requests();

  /// A request for what this process has begun on a member, which is complete if that has local completion. None:
  /// MPI_PROC_NULL, and complete.
  MPI_Request make(window& on, int rank);
  /// Completes all requests of a window that ends.
  void end(const window& of);

 private:
  struct pending {
    window* on;
    rank_t member;
    MPI_Request request;
  };
  bool on_progress() override;
  bool complete_if(function_ref<bool(const pending&)> is_done);

  job& job_;
  std::vector<pending> all_;  ///< if there are any, the engine calls `on_progress`
};

}  // namespace amity::mpi
