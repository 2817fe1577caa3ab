#pragma once

/// Runs a program and reads its output; the benchmarks run every measurement in processes of its own.

#include <string>
#include <vector>

namespace amity::bench {

struct command {
  std::vector<std::string> words;        ///< program (a path, or a name that PATH finds) and arguments
  std::vector<std::string> environment;  ///< "NAME=VALUE", added to what this process has
  /// If positive, the program may hang after its sample, a last line that begins with "{": if it has not ended so many
  /// seconds later, it is killed, and its output counts.
  double end_seconds_max = 0;
};

/// Runs the command to its end and returns what it wrote to standard output. `errors` receives what it wrote to
/// standard error, also if this function throws; if it is null, standard error passes through. Throws
/// std::runtime_error, naming the command, if it fails or takes longer than `seconds_max`: its whole process group is
/// killed then.
std::string run_command(const command& what, double seconds_max, std::string* errors = nullptr);

}  // namespace amity::bench
