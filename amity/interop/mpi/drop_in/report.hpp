#pragma once

/// What a user learns of the library: which one serves the windows, and what is left to the MPI.

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::mpi {

class job;

class report : private immovable {
 public:
  /// `is_wanted`: AMITY_MPI_REPORT.
  explicit report(bool is_wanted) : is_wanted_(is_wanted) {}

  /// The MPI serves all windows of the job, because its processes differ in this way. Prints that, on rank 0. Called
  /// before the first one-sided call.
  void leave_all_windows(std::string_view difference);
  /// Prints which libraries serve the windows of the job, if it is wanted, on rank 0.
  void print_begin(const job& of) const;
  /// Prints how many one-sided calls this process has passed to the MPI, if it is wanted or there are any.
  void print_end() const;

  /// A one-sided call is passed to the MPI. Any thread.
  void count_native_call() noexcept { native_calls_.fetch_add(1, std::memory_order_relaxed); }
  /// A window of this communicator is left to the MPI. Prints why, for the first one. Any thread.
  void count_native_window(std::string_view call, MPI_Comm comm);
  /// Prints a warning, unless this process has printed it before. Any thread.
  void warn_once(const std::string& text);

 private:
  bool is_wanted_;
  bool leaves_all_windows_ = false;
  std::atomic<std::size_t> native_calls_ = 0;
  std::atomic<bool> has_explained_ = false;
  std::mutex mutex_;
  std::set<std::string> warnings_;
};

}  // namespace amity::mpi
