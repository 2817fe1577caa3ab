#pragma once

/// What a user learns of the library: which one serves the windows, and what is left to the MPI.

#include <atomic>
#include <cstddef>
#include <string_view>

#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::mpi {

class job;

class report : private immovable {
 public:
  /// `is_wanted`: AMITY_MPI_REPORT.
  explicit report(bool is_wanted) : is_wanted_(is_wanted) {}

  /// Prints which libraries serve the windows of the job, if it is wanted, on rank 0.
  void print_begin(const job& of) const;
  /// Prints how many one-sided calls this process has passed to the MPI, if it is wanted or there are any.
  void print_end() const;

  /// A one-sided call is passed to the MPI. Any thread.
  void count_native_call() noexcept { native_calls_.fetch_add(1, std::memory_order_relaxed); }
  /// A window of this communicator is left to the MPI. Prints why, for the first one. Any thread.
  void count_native_window(std::string_view call, MPI_Comm comm);

 private:
  bool is_wanted_;
  std::atomic<std::size_t> native_calls_ = 0;
  std::atomic<bool> has_explained_ = false;
};

}  // namespace amity::mpi
