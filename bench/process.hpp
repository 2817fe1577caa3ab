#pragma once

/// Runs a program and reads its output; the benchmarks run every measurement in processes of its own.

#include <string>
#include <vector>

namespace amity::bench {

struct command {
  std::vector<std::string> words;        ///< program (a path, or a name that PATH finds) and arguments
  std::vector<std::string> environment;  ///< "NAME=VALUE", added to what this process has
  /// The program prints one line at its end and may hang after that: if it has not ended 5 s later, it is killed, and
  /// the line counts.
  bool may_hang_at_end = false;
};

/// Runs the command to its end and returns what it wrote to standard output. `errors` receives what it wrote to
/// standard error, also if this function throws; if it is null, standard error passes through. Throws
/// std::runtime_error, naming the command, if it fails or takes longer than `seconds_max`: its whole process group is
/// killed then.
std::string run_command(const command& what, double seconds_max, std::string* errors = nullptr);

}  // namespace amity::bench
