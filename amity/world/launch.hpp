#pragma once

/// Starts a job: N ranks as child processes that share one piece of memory.
///
/// The launcher creates the job's memory, starts the ranks, and watches them. What it promises:
/// - The job ends as soon as it cannot succeed: a rank that fails takes the others with it within a second, and a
///   message names it.
/// - Nothing outlives the job: the memory has no name, and the ranks die with the launcher, even if it is killed.
/// - It uses no CPU while the ranks run, and keeps no handler, thread or global state in the calling process.

#include <string>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"

namespace amity {

struct launch_options {
  rank_t ranks = 1;
  rank_t threads = 1;          ///< of amity in each rank; their number follows from the settings
  std::string fabric = "shm";  ///< AMITY_FABRIC of the ranks; one whose ranks are processes
  bool prefix_output = false;  ///< begin each line of a rank with "[rank] "; lines of ranks never mix
  /// Rank i runs on the i-th CPU that the launcher may use, or on as many as it has threads, modulo their number.
  bool pin = false;
  std::vector<std::string> command;      ///< the program and its arguments
  std::string program;                   ///< what to execute, if it is not command[0]
  std::vector<std::string> environment;  ///< "NAME=VALUE": added to the launcher's own, for all ranks
};

/// Starts the ranks, waits until all have ended, and returns the exit status of the job:
/// - 0 if every rank exited with 0;
/// - otherwise the status of the first rank that failed, 128 + signal for one that was killed, 1 for one that exited
///   with 0 although others still counted on it (inside amity::run, or before it while others were waiting there);
/// - 128 + signal if SIGINT, SIGTERM, SIGHUP or SIGQUIT ended the launcher's job;
/// - with `prefix_output`, 1 if the output of the ranks cannot be written, and 128 + SIGPIPE if its reader closed it;
/// - 127 if there is no such program, 126 if it cannot be executed.
///
/// Ranks find AMITY_RANK, AMITY_RANKS, AMITY_JOB_FD and AMITY_FABRIC in their environment. Rank 0 reads the
/// launcher's standard input, the others read nothing. SIGUSR1 is forwarded to the ranks. Each rank has its own process
/// group: in a job that fails, the processes that it has started end as well; after success they may go on.
///
/// Blocks, and waits for signals in the calling thread: call it where no other thread handles them. Throws `error` for
/// options that make no sense and where the system refuses a process or memory; no rank is left running then.
int launch(const launch_options& options);

/// Starts the calling program again with the same arguments, AMITY_RANKS times; otherwise as `launch`.
int self_launch(const settings& values, int argc, const char* const* argv);

}  // namespace amity
