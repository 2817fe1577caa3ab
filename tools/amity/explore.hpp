#pragma once

/// Runs a program with many seeds, several at once, and finds the first that fails.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace amity::tools {

struct exploration {
  std::vector<std::string> command;  ///< the program and its arguments
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  unsigned jobs = 1;             ///< runs at a time
  unsigned seconds_max = 300;    ///< a run that takes longer is killed, and has failed
  bool varies_protocol = false;  ///< sets AMITY_WINDOW_PROTOCOL to `protocol_of` the seed
};

/// The protocol of windows in the run with this seed, on which the order of operations depends. Half of the runs have
/// the usual one.
std::string_view protocol_of(std::uint64_t seed);

struct run_outcome {
  std::uint64_t seed = 0;
  int status = 0;         ///< exit status; 128 + signal; 0 if no run has failed
  bool too_long = false;  ///< it was killed because it took too long
  bool unseen = false;    ///< it ended with 0, but no simulated job came to its end
  int start_error = 0;    ///< errno, if the program could not be started
  std::string tail;       ///< the last lines that it printed, on both outputs
};

/// The failure with the smallest seed, which does not depend on how many run at a time, or a status of 0. Sets
/// AMITY_SIM_SEED and AMITY_SIM_WITNESS for each run; all else of the environment is this process's. Throws `error` if
/// no run can be started. A signal that asks this process to end first ends the runs, with all that they have started.
run_outcome explore(const exploration& wanted);

}  // namespace amity::tools
