// amity run: starts a program as the ranks of one job.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/core/team.hpp"
#include "amity/world/launch.hpp"
#include "commands.hpp"

namespace amity::tools {
namespace {

constexpr auto examples = R"(Everything after PROGRAM belongs to it.

Examples:
  amity run -n 4 ./program           four ranks
  amity run -n 4 --prefix ./program  begin each line of output with its rank
  amity run -n 2 --pin ./program -v  one CPU for each rank; -v is an option of the program

Returns the exit status of the first rank that fails, or 128 + N if signal N killed it. A rank that fails, or Ctrl-C,
ends all ranks. Rank 0 reads standard input.)";

/// How many of the arguments are ours: all up to and including the first that is no option.
std::size_t own_arguments(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    if (argument == "--") return std::min(i + 2, arguments.size());
    if (argument == "-n" || argument == "--ranks" || argument == "-t" || argument == "--threads") {
      ++i;
    } else if (!argument.starts_with('-')) {
      return i + 1;
    }
  }
  return arguments.size();
}

/// The other fabrics hold all ranks in one process, which is not what a launcher starts.
void check_fabric(const settings& values) {
  const auto& fabric = values.text("AMITY_FABRIC");
  if (fabric != "threads" && fabric != "sim") return;
  throw error("run", no_rank, fmt::format("AMITY_FABRIC={} keeps all ranks in one process", fabric),
              "start the program itself, with AMITY_RANKS=N, or unset AMITY_FABRIC");
}

}  // namespace

int run(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(own_arguments(arguments));

  launch_options options;
  std::string program;
  CLI::App app("Starts a program as the ranks of one job, over shared memory, or as AMITY_FABRIC says.", "amity run");
  app.footer(examples);
  auto* const ranks = app.add_option("-n,--ranks", options.ranks, "Number of ranks; without it, AMITY_RANKS counts")
                          ->check(CLI::Range(rank_t{1}, rank_t{65536}))
                          ->type_name("N");
  rank_t threads_wanted = 0;
  app.add_option("-t,--threads", threads_wanted, "Threads of each rank; without it, AMITY_THREADS counts")
      ->check(CLI::Range(rank_t{1}, rank_t{256}))
      ->type_name("T");
  app.add_flag("--prefix", options.prefix_output, "Begin each line of output with the rank that wrote it");
  app.add_flag("--pin", options.pin, "Bind each rank to the next CPU, or one for each thread; starts over at the end");
  app.add_option("PROGRAM", program, "What to start; looked for in PATH unless it has a '/'")->required();
  try {
    app.parse(std::vector<std::string>(std::reverse_iterator(rest), arguments.rend()));
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }

  auto values = settings::from_environment();
  check_fabric(values);
  if (ranks->empty()) options.ranks = static_cast<rank_t>(values.integer("AMITY_RANKS"));
  if (threads_wanted > 0) {
    values.set("AMITY_THREADS", std::to_string(threads_wanted));
    options.environment.push_back(fmt::format("AMITY_THREADS={}", threads_wanted));
  }
  options.fabric = values.text("AMITY_FABRIC");
  options.threads = core::threads_per_rank(values);
  options.command.push_back(program);
  options.command.insert(options.command.end(), rest, arguments.end());
  return launch(options);
}

}  // namespace amity::tools
