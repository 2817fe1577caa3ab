// The command `amity`: starts jobs, lists fabrics and settings, and runs the bundled applications.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
#include "amity/base/standard_descriptors.hpp"
#include "commands.hpp"

#ifdef AMITY_WITH_GRAPH
#include "apps/graph/command/command.hpp"
#endif

namespace {

struct command {
  std::string_view name;
  std::string_view summary;
  int (*main)(int argc, char** argv);
};

constexpr auto commands = std::to_array<command>({
    {"run", "Start a program as the ranks of one job", amity::tools::run},
    {"sim", "Run a program on simulated ranks, inject faults, explore schedules", amity::tools::sim},
    {"mpi", "Start a program of MPI with amity's one-sided library", amity::tools::mpi},
    {"info", "List fabrics and settings", amity::tools::info},
#ifdef AMITY_WITH_GRAPH
    {"graph", "Run graph kernels on a file, a generated graph or the packages of this system",
     amity::apps::graph::command},
#endif
});

constexpr auto examples = R"(Examples:
  amity run -n 4 ./program --its-own-option
  amity sim -n 4096 --network aries --explore 100 ./program
  mpirun -n 4 amity mpi ./mpi_program
  amity info
  amity graph --help

`amity COMMAND --help` describes a command.)";

/// Prints to standard error. fmt::print throws if that is full or closed; then only the exit status can report.
void complain(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// Handles a command line that does not begin with a command: --help, --version or a usage error.
int without_command(int argc, char** argv) {
  CLI::App app("Active-message runtime for irregular parallel programs.", "amity");
  app.set_version_flag("--version", "amity " AMITY_VERSION);
  app.footer(examples);
  for (const auto& each : commands) app.add_subcommand(std::string(each.name), std::string(each.summary));
  if (argc < 2) {
    complain(app.help());
    return amity::tools::usage_error;
  }
  if (argv[1][0] != '-') {
    complain(fmt::format("amity: unknown command '{}'; `amity --help` lists the commands\n", argv[1]));
    return amity::tools::usage_error;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : amity::tools::usage_error;
  }
  return amity::tools::usage_error;
}

/// Returns `status` if everything was printed; otherwise the result is lost, and the status is not 0.
int status_once_printed(int status) {
  const int earlier = errno;  // of a write that filled the buffer, if one failed
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return status;
  complain(fmt::format("amity: cannot write to standard output: {}; check for a full disk or a closed pipe\n",
                       std::strerror(flushed ? earlier : errno)));
  return status == 0 ? 1 : status;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): other exceptions are bugs; they end the program with their name.
int main(int argc, char** argv) {
  amity::open_missing_standard_descriptors();
  try {
    const auto* const found =
        argc < 2 ? commands.end() : std::ranges::find(commands, std::string_view(argv[1]), &command::name);
    const int status = found == commands.end() ? without_command(argc, argv) : found->main(argc - 1, argv + 1);
    return status_once_printed(status);
  } catch (const amity::error& mistake) {
    complain(fmt::format("{}\n", mistake.what()));
    return 1;
  }
}
