// amity run: starts a program as the ranks of one job.

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/core/team.hpp"
#include "amity/world/launch.hpp"
#include "commands.hpp"
#include "own_arguments.hpp"
#include "setting_range.hpp"

namespace amity::tools {
namespace {

constexpr auto run_examples = R"(All arguments after PROGRAM are passed to it.

Examples:
  amity run -n 4 ./program           four ranks
  amity run -n 4 --prefix ./program  prefix each line of output with its rank
  amity run -n 2 --pin ./program -v  one CPU per rank; -v is an option of the program
  amity run -n 4 --fabric mpi ./program  the same as AMITY_FABRIC=mpi mpirun -n 4 ./program

Exit status: 0 if all ranks succeed, otherwise the status of the first rank that failed, or 128 + N if signal N ended
it. If a rank fails, or on Ctrl-C, all ranks are ended. Standard input is forwarded to rank 0.)";

constexpr auto run_options_with_value =
    std::to_array<std::string_view>({"-n", "--ranks", "-t", "--threads", "--fabric"});

/// What the program reads. Before this process is replaced by another one.
void hand_down(const launch_options& options) {
  ::setenv("AMITY_FABRIC", options.fabric.c_str(), 1);
  ::setenv("AMITY_RANKS", std::to_string(options.ranks).c_str(), 1);
  for (const std::string& setting : options.environment) {
    const auto equals = setting.find('=');
    ::setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
}

/// Returns, with `errno`, if the system refuses.
void replace_process(std::vector<std::string> words) {
  std::vector<char*> line;
  for (std::string& word : words) line.push_back(word.data());
  line.push_back(nullptr);
  ::execvp(line.front(), line.data());
}

void refuse_options_of_processes(const launch_options& options, std::string_view remedy) {
  if (!options.prefix_output && !options.pin) return;
  throw error("run", no_rank, fmt::format("--prefix and --pin are not available with the fabric {}", options.fabric),
              remedy);
}

/// Replaces this process by the program, which runs all ranks.
int start_in_one_process(const launch_options& options) {
  refuse_options_of_processes(options, "all ranks are in one process; leave out the options");
  hand_down(options);
  replace_process(options.command);
  const int cause = errno;
  std::fprintf(stderr, "amity: run: cannot start '%s': %s\n", options.command.front().c_str(), std::strerror(cause));
  return cause == ENOENT ? 127 : 126;
}

/// Commands that start programs of the MPI that AMITY_MPI_LIBRARY names, in the order in which they are tried. The
/// program recognizes by its environment which MPI has started it.
std::vector<std::string> mpi_launchers(const std::string& library) {
  std::vector<std::string> commands{"mpirun", "mpiexec"};
  if (library == "openmpi") commands.insert(commands.begin(), "mpirun.openmpi");
  if (library == "mpich") commands.insert(commands.begin(), {"mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra"});
  return commands;
}

/// Replaces this process by the launcher of the MPI.
int start_with_mpi(const launch_options& options, const std::string& library) {
  refuse_options_of_processes(options, "start the program with MPI's own launcher and its options");
  hand_down(options);
  const std::vector<std::string> launchers = mpi_launchers(library);
  for (const std::string& launcher : launchers) {
    std::vector<std::string> words{launcher, "-n", std::to_string(options.ranks)};
    words.insert(words.end(), options.command.begin(), options.command.end());
    replace_process(std::move(words));
    if (errno != ENOENT) {
      throw error("run", no_rank, fmt::format("cannot start {}: {}", launcher, std::strerror(errno)),
                  "check the installation of MPI, or start the program with the launcher of another MPI");
    }
  }
  throw error("run", no_rank, fmt::format("no MPI launcher found in PATH: {}", fmt::join(launchers, ", ")),
              "install an MPI, or add the directory of its mpirun to PATH");
}

}  // namespace

int run(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(own_arguments(arguments, run_options_with_value));

  launch_options options;
  std::string program;
  CLI::App app("Starts a program as the ranks of one job on this machine.", "amity run");
  app.footer(run_examples);
  auto* const ranks = app.add_option("-n,--ranks", options.ranks, "Number of ranks (default: $AMITY_RANKS)")
                          ->check(range_of("AMITY_RANKS"))
                          ->type_name("N");
  rank_t threads_wanted = 0;
  app.add_option("-t,--threads", threads_wanted, "Threads per rank (default: $AMITY_THREADS)")
      ->check(range_of("AMITY_THREADS"))
      ->type_name("T");
  std::string fabric;
  app.add_option("--fabric", fabric,
                 "Fabric: shm, threads (all ranks in one process), or mpi (ranks are started by mpirun) "
                 "(default: $AMITY_FABRIC)")
      ->type_name("NAME");
  app.add_flag("--prefix", options.prefix_output, "Prefix each line of output with the rank that wrote it");
  app.add_flag("--pin", options.pin, "Bind each rank to one CPU per thread, in order; wraps around after the last CPU");
  app.add_option("PROGRAM", program, "Program to start; searched in PATH if it contains no '/'")->required();
  try {
    app.parse(std::vector<std::string>(std::reverse_iterator(rest), arguments.rend()));
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }

  auto values = settings::from_environment();
  if (!fabric.empty()) values.set("AMITY_FABRIC", fabric);
  if (ranks->empty()) options.ranks = static_cast<rank_t>(values.integer("AMITY_RANKS"));
  if (threads_wanted > 0) {
    values.set("AMITY_THREADS", std::to_string(threads_wanted));
    options.environment.push_back(fmt::format("AMITY_THREADS={}", threads_wanted));
  }
  options.fabric = values.text("AMITY_FABRIC");
  options.threads = core::threads_per_rank(values);
  options.command.push_back(program);
  options.command.insert(options.command.end(), rest, arguments.end());
  if (options.fabric == "mpi") return start_with_mpi(options, values.text("AMITY_MPI_LIBRARY"));
  if (options.fabric == "threads" || options.fabric == "sim") return start_in_one_process(options);
  return launch(options);
}

}  // namespace amity::tools
