#pragma once

/// The commands of `amity`. Each gets its own name as argv[0] and returns the exit status of the process; mistakes of
/// the user that are not on the command line are thrown as `amity::error`.

namespace amity::tools {

inline constexpr int usage_error = 2;

int run(int argc, char** argv);
int sim(int argc, char** argv);
int mpi(int argc, char** argv);
int info(int argc, char** argv);

}  // namespace amity::tools
