#pragma once

/// What the ranks of a job start with, and how they differ.

#include <string>
#include <vector>

#include "amity/base/file_descriptor.hpp"
#include "amity/world/launch.hpp"
#include "amity/world/launch/rank_process.hpp"

namespace amity::detail {

/// The program could not be executed.
struct program_not_started {
  int reason;  ///< the system's error number
};

/// Starts the ranks of a job, one in each call.
class rank_starter {
 public:
  /// What all ranks of a job inherit from its launcher; the descriptors remain the launcher's.
  struct common {
    int job_fd;    ///< of the job's memory
    int guard_fd;  ///< of the `launch_guard`
    const sigset_t* signal_mask;
    file_descriptor typed;  ///< standard input of rank 0; empty: that of the launcher
  };

  rank_starter(const launch_options& options, common shared);

  /// Starts the process of `rank`, which writes to these descriptors. Throws `program_not_started`, and `error` if the
  /// system refuses something.
  rank_process start(rank_t rank, int output_fd, int error_fd);

 private:
  common shared_;
  std::vector<std::string> environment_;  ///< the last one is AMITY_RANK
  std::vector<std::string> command_;
  std::vector<char*> arguments_;  ///< into `command_`
  std::string program_;
  rank_t threads_;
  std::vector<std::size_t> cpus_;  ///< that the ranks are bound to; empty: they are not bound
  file_descriptor nothing_;        ///< standard input of the other ranks
};

}  // namespace amity::detail
