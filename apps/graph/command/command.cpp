#include "apps/graph/command/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/command/job.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/packages.hpp"

namespace amity::apps::graph {
namespace {

constexpr int usage_error = 2;

constexpr auto explanation =
    R"(Searches a graph with active messages: breadth first, or for shortest paths.

Without FILE, the graph is that of the distribution's packages: each depends on others, by Depends and Pre-Depends,
with alternatives and virtual packages resolved. The answer is checked against a sequential search.)";

std::string formats_help() {
  std::string text = "Formats of FILE, any of them also packed by gzip:\n";
  for (const format& f : format_table()) text += fmt::format("  {:<18}{}\n", f.name, f.help);
  return text;
}

void add_options(CLI::App& app, options& wanted) {
  app.add_option("FILE", wanted.file, "Graph to search; see the formats below");
  app.add_option("--format", wanted.format, "Format of FILE, where its name and content do not tell");
  app.add_flag("--packages", wanted.packages, "Search the packages, and nothing in their stead")->excludes("FILE");
  app.add_option("--lists", wanted.lists, "Folder of package lists")->capture_default_str();
  app.add_flag("--reverse", wanted.reverse, "Walk edges backwards: to those that depend on a package");
  app.add_flag("--undirected", wanted.undirected, "Walk edges both ways");
  app.add_option("--root", wanted.root, "Label of the vertex to start from");
  app.add_option("-n,--ranks", wanted.ranks, "Ranks to start; in a job that is already running its own count")
      ->check(CLI::Range(1, 65536));
  app.add_option("--fabric", wanted.fabric, "How ranks reach each other: shm, threads or sim");
  app.add_option("--repeat", wanted.repeat, "Searches to run, to report the median time; 0: a few if they are short")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  app.add_flag("--verify,!--no-verify", wanted.verify, "Compare with the sequential answer (the standard)");
  app.add_option("--top", wanted.top, "How many of the farthest vertices to show")->capture_default_str();
  app.add_option("--json", wanted.json, "File for the result as JSON; - for standard output, in place of the text");
  app.add_flag("!--no-progress", wanted.progress, "Do not show progress");
}

/// What CLI11 reports; its own ranges let pass what is not a number.
std::string width_problem(const std::string& text) {
  const auto width = parse_length(text);
  if (width && std::isfinite(*width) && *width >= 0) return {};
  return fmt::format("'{}' is not a finite number of at least 0", text);
}

void add_length_options(CLI::App& app, options& wanted) {
  app.add_option("--weights", wanted.lengths,
                 "Lengths of edges: input (its own; random in [0, 1) if it has none), unit, uniform (random in [0, "
                 "1)), integer (random, 1 to 255), or a file of float32, one an edge")
      ->capture_default_str();
  app.add_option("--seed", wanted.seed, "Seed of random lengths")->capture_default_str();
  app.add_option("--delta", wanted.delta, "Width of a bucket of delta-stepping; 0: chosen from the lengths")
      ->check(CLI::Validator(width_problem, "", "width"))
      ->capture_default_str();
}

/// The settings of the job: those of the environment, and what the user says here. In a job that runs already, its
/// launcher's word counts.
settings job_settings(const options& wanted) {
  settings values = settings::from_environment();
  if (values.integer("AMITY_RANK") >= 0) return values;
  if (wanted.ranks) values.set("AMITY_RANKS", std::to_string(*wanted.ranks));
  if (wanted.fabric) values.set("AMITY_FABRIC", *wanted.fabric);
  return values;
}

}  // namespace

int command(int argc, char** argv) {
  options wanted;
  wanted.lists = apt_lists_folder;
  CLI::App app(explanation, "amity graph");
  app.require_subcommand(1);
  app.footer(formats_help());
  CLI::App& bfs = *app.add_subcommand("bfs", "Breadth-first search: the fewest edges from the root to each vertex");
  CLI::App& sssp = *app.add_subcommand("sssp", "Shortest paths: the least sum of lengths from the root to each vertex");
  for (CLI::App* each : {&bfs, &sssp}) {
    add_options(*each, wanted);
    each->footer(formats_help());
  }
  add_length_options(sssp, wanted);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }
  wanted.search = sssp.parsed() ? options::algorithm::sssp : options::algorithm::bfs;

  std::string program = "amity";
  std::vector<char*> arguments{program.data()};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  try {
    return run(job_settings(wanted), argc + 1, arguments.data(), [&](world& w) { return run_job(w, wanted); });
  } catch (const error& mistake) {
    fmt::print(stderr, "{}\n", mistake.what());
    return 1;
  }
}

}  // namespace amity::apps::graph
