// The command `amity`: starts jobs, tells what there is, and runs the applications that come with the library.

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
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
    {"sim", "Start a program on simulated ranks, with faults, and explore its schedules", amity::tools::sim},
    {"info", "List fabrics and settings", amity::tools::info},
#ifdef AMITY_WITH_GRAPH
    {"graph", "Search a graph: from a file, or the dependencies of the system's packages", amity::apps::graph::command},
#endif
});

constexpr auto examples = R"(Examples:
  amity run -n 4 ./program --its-own-option
  amity sim -n 4096 --network aries --explore 100 ./program
  amity info
  amity graph --help

`amity COMMAND --help` tells more about a command.)";

/// Prints to standard error. fmt::print throws if that is full or closed; then only the exit status can report.
void complain(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// A command line that begins with no command: --help, --version, or a mistake.
int without_command(int argc, char** argv) {
  CLI::App app("Active messages for irregular programs.", "amity");
  app.set_version_flag("--version", "amity " AMITY_VERSION);
  app.footer(examples);
  for (const auto& each : commands) app.add_subcommand(std::string(each.name), std::string(each.summary));
  if (argc < 2) {
    complain(app.help());
    return amity::tools::usage_error;
  }
  if (argv[1][0] != '-') {
    complain(fmt::format("amity: there is no command '{}'; `amity --help` lists them\n", argv[1]));
    return amity::tools::usage_error;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : amity::tools::usage_error;
  }
  return amity::tools::usage_error;
}

/// A result that nobody can read is none; `status` if all of it has gone out.
int status_once_printed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  complain("amity: standard output takes no more; check where it goes: a full disk, a closed descriptor\n");
  return status == 0 ? 1 : status;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): other exceptions are bugs; they end the program with their name.
int main(int argc, char** argv) {
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
