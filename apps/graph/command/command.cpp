#include "apps/graph/command/command.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "amity/amity.hpp"
#include "amity/base/settings.hpp"
#include "apps/graph/command/kernels.hpp"
#include "apps/graph/command/loaded_graph.hpp"
#include "apps/graph/console/console.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/packages.hpp"
#include "apps/graph/input/weight_text.hpp"
#include "apps/graph/output/destination.hpp"

namespace amity::apps::graph {
namespace {

constexpr int usage_error = 2;

/// What the setting behind an option can be.
CLI::Range range_of(std::string_view setting) {
  const setting_info& info = *find_setting(setting);
  return {info.min, info.max};
}

constexpr auto explanation =
    R"(Runs graph and data kernels with active messages, on any number of ranks and threads.
Without FILE or a generator, the graph consists of the packages that apt knows and their dependencies (Depends and
Pre-Depends, with alternatives and virtual packages resolved). Results are validated.)";

std::string formats_help() {
  std::string text = "Formats of FILE, each also compressed by gzip:\n";
  for (const format& f : format_table()) text += fmt::format("  {:<18}{}\n", f.name, f.help);
  return text;
}

/// What CLI11 reports; its own ranges let pass what is not a number.
std::string width_problem(const std::string& text) {
  const auto width = parse_number(text);
  if (width && std::isfinite(*width) && *width >= 0) return {};
  return fmt::format("'{}' is not a finite number of at least 0", text);
}

/// A tolerance is a double, of which the smallest are far below those of a length.
std::string tolerance_problem(const std::string& text) {
  double tolerance = 0;
  const char* const begin = text.data() + text.starts_with('+');
  const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), tolerance);
  if (failed == std::errc{} && end == text.data() + text.size() && std::isfinite(tolerance) && tolerance > 0) return {};
  return fmt::format("'{}' is not a finite number above 0 that fits a double", text);
}

std::string fabric_problem(const std::string& word) {
  try {
    settings().set("AMITY_FABRIC", word);
    return {};
  } catch (const error& wrong) {
    return wrong.what();
  }
}

std::string emptiness(const std::string& text) { return text.empty() ? "it is empty" : ""; }

/// CLI11 takes -1 for the greatest number there is, and so those that are greater.
std::string count_problem(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc{} && end == text.data() + text.size()) return {};
  return fmt::format("'{}' is not a whole number from 0 to {}", text, std::numeric_limits<std::uint64_t>::max());
}

std::string distribution_problem(const std::string& word) {
  return parse_distribution(word) ? "" : fmt::format("'{}' is not one of block, cyclic and hash", word);
}

void add_sizes_of_made_graph(CLI::App& app, options& wanted) {
  app.add_option("--edge-factor", wanted.edge_factor, "Edges per vertex of a generated graph")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--seed", wanted.seed, "Seed of all random choices")
      ->check(CLI::Validator(count_problem, "", "seed"))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--distribution", [&](const std::string& word) { wanted.owners = *parse_distribution(word); },
         "Distribution of vertices to ranks: block, cyclic or hash (default: cyclic)")
      ->check(CLI::Validator(distribution_problem, "", "distribution"));
}

void add_graph_options(CLI::App& app, const takes& groups, options& wanted) {
  CLI::Option* const file = app.add_option("FILE", wanted.file, "Input graph; -: standard input; see the formats below")
                                ->check(CLI::Validator(emptiness, "", "name"));
  app.add_option("--format", wanted.format, "Format of FILE (default: detected from its name and content)")
      ->check(CLI::Validator(format_problem, "", "format"))
      ->needs(file);
  app.add_option(
         "--vertices", wanted.vertices,
         "Number of vertices of FILE, numbered from 0 (Graph500) or 1. Sets it for Graph500 files, which do not "
         "state it; must match the header of others. Without it, more than 2^20 vertices with less than one "
         "edge per 256 vertices are refused as a sign of damage")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{no_vertex - 1}))
      ->needs(file);
  CLI::Option* const packages =
      app.add_flag("--packages", wanted.packages, "Use the packages of this system; fail if there are no package lists")
          ->excludes(file);
  app.add_option("--lists", wanted.lists, "Directory of package lists")->capture_default_str();
  CLI::Option* const kronecker =
      app.add_option("--kronecker", wanted.kronecker, "Generate a Graph500 (Kronecker) graph of 2^SCALE vertices")
          ->type_name("SCALE")
          ->check(CLI::Range(1, 30))
          ->excludes(file)
          ->excludes(packages);
  app.add_option("--erdos-renyi", wanted.erdos_renyi,
                 "Generate a random graph of 2^SCALE vertices, with a cycle through all of them")
      ->type_name("SCALE")
      ->check(CLI::Range(1, 30))
      ->excludes(file)
      ->excludes(packages)
      ->excludes(kronecker);
  add_sizes_of_made_graph(app, wanted);
  app.add_flag("--reverse", wanted.reverse,
               "Traverse edges backward, for example to the packages that depend on the root");
  app.add_flag("--undirected", wanted.undirected, "Traverse edges in both directions");
  if (groups.per_vertex) {
    app.add_option("--output", wanted.output,
                   "Write a line per vertex to this file: its label and its result; -: standard output, with the "
                   "report on standard error")
        ->check(CLI::Validator(emptiness, "", "name"));
  }
  app.footer(formats_help());
}

std::string weight_type_problem(const std::string& word) {
  return word == "auto" || parse_weight_type(word)
             ? ""
             : fmt::format("'{}' is not one of auto, int64, double and float32", word);
}

void add_length_options(CLI::App& app, const takes& groups, options& wanted) {
  app.add_option(
         "--weights", wanted.lengths,
         groups.entries
             ? "Entries of the matrix: input (those of FILE; 1 if it has none), unit (1), uniform (random in [0, "
               "1)), integer (random, 1 to 255), or a file with one float32 per entry. Entries and products are "
               "double. A generated graph has uniform weights"
             : "Weights of edges: input (those of FILE; 1 if it has none), unit (1), uniform (random in [0, 1)), "
               "integer (random, 1 to 255), or a file with one float32 per edge. A generated graph has uniform "
               "weights")
      ->capture_default_str();
  if (groups.entries) return;
  app.add_option_function<std::string>(
         "--weight-type", [&](const std::string& word) { wanted.weights = parse_weight_type(word); },
         "Type of weights and distances: int64 (exact), double (about 16 digits), float32 (about 7 digits, half the "
         "memory), or auto: int64 if all weights are integers, double otherwise (default: auto). double and float32 "
         "round weights to the nearest value")
      ->type_name("TYPE")
      ->check(CLI::Validator(weight_type_problem, "", "type"));
  app.add_option("--delta", wanted.delta, "Width of a bucket of delta-stepping; 0: chosen from the weights")
      ->check(CLI::Validator(width_problem, "", "width"))
      ->capture_default_str();
}

void add_options(CLI::App& app, const takes& groups, options& wanted) {
  constexpr int any = std::numeric_limits<int>::max();
  if (groups.graph) add_graph_options(app, groups, wanted);
  if (groups.lengths) add_length_options(app, groups, wanted);
  if (groups.root) {
    app.add_option("--root", wanted.root, "Label of the start vertex (default: chosen)")
        ->check(CLI::Validator(emptiness, "", "label"));
  }
  if (groups.direction || groups.benchmark) {
    app.add_flag("--top-down", wanted.top_down,
                 "Search top-down only (default: top-down or bottom-up, whichever is less work)");
  }
  if (groups.top) {
    app.add_option("--top", wanted.top, "Number of farthest, or highest-ranked, vertices to print")
        ->check(CLI::Validator(count_problem, "", "count"))
        ->capture_default_str();
  }
  if (groups.iterations) {
    app.add_option("--iterations", wanted.iterations, "Largest number of iterations")
        ->check(CLI::Range(1, any))
        ->capture_default_str();
    app.add_option("--tolerance", wanted.tolerance,
                   "Stop if the sum of all changes in an iteration is below this value")
        ->check(CLI::Validator(tolerance_problem, "", "number"))
        ->capture_default_str();
  }
  if (groups.benchmark) {
    app.add_option("--scale", wanted.kronecker, "Generate 2^SCALE vertices (default: 16)")->check(CLI::Range(1, 30));
    add_sizes_of_made_graph(app, wanted);
    app.add_option("--delta", wanted.delta, "Width of a bucket of delta-stepping; 0: chosen from the weights")
        ->check(CLI::Validator(width_problem, "", "width"));
  }
  if (groups.table) {
    app.add_option("--seed", wanted.seed, "Seed of all random choices")
        ->check(CLI::Validator(count_problem, "", "seed"))
        ->capture_default_str();
    app.add_option("--slots", wanted.slots, "Table slots per thread, of 8 bytes each")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
        ->capture_default_str();
    app.add_option("--updates", wanted.updates, "Messages per thread")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
        ->capture_default_str();
  }
  app.add_option("-n,--ranks", wanted.ranks,
                 "Number of ranks (default: $AMITY_RANKS); ignored if a launcher has started the ranks")
      ->check(range_of("AMITY_RANKS"));
  app.add_option("-t,--threads", wanted.threads,
                 "Threads per rank (default: $AMITY_THREADS); ignored if a launcher has started the ranks")
      ->check(range_of("AMITY_THREADS"));
  app.add_option("--fabric", wanted.fabric,
                 "Fabric: shm, threads, sim, mpi, ofi or composite (default: $AMITY_FABRIC); ignored if a launcher has "
                 "started the ranks")
      ->check(CLI::Validator(fabric_problem, "", "fabric"));
  app.add_option("--repeat", wanted.repeat,
                 groups.benchmark ? "Searches per kernel; 0: 64"
                                  : "Runs; the median time is reported; 0: chosen from the time of the first run")
      ->check(CLI::Range(0, any))
      ->capture_default_str();
  app.add_flag("--verify,!--no-verify", wanted.verify, "Validate the result (default: on)");
  app.add_option("--json", wanted.json,
                 "Write the result as JSON to this file; -: standard output, in place of the text")
      ->check(CLI::Validator(emptiness, "", "name"));
  app.add_flag("!--no-progress", wanted.progress, "Do not show progress");
}

/// The settings of the job: those of the environment, and what the user says here. In a job that runs already, its
/// launcher's word counts.
settings job_settings(const options& wanted) {
  settings values = settings::from_environment();
  if (values.integer("AMITY_RANK") >= 0) return values;
  if (wanted.ranks) values.set("AMITY_RANKS", std::to_string(*wanted.ranks));
  if (wanted.threads) values.set("AMITY_THREADS", std::to_string(*wanted.threads));
  if (wanted.fabric) values.set("AMITY_FABRIC", *wanted.fabric);
  return values;
}

int run_kernel(const kernel& chosen, world& w, const options& wanted) {
  session job(w, wanted, chosen.options.lengths, chosen.options.entries);
  try {
    job.check_files(chosen.options.graph ? files_to_read(wanted, chosen.options.lengths)
                                         : std::vector<std::filesystem::path>());
    return chosen.run(job);
  } catch (const answered&) {
    return 1;
  } catch (const std::bad_alloc&) {
    throw error("graph", w.rank(), "there is not enough memory for what was asked for",
                "use a smaller graph or table, or more hosts");
  }
}

}  // namespace

int command(int argc, char** argv) {
  options wanted;
  wanted.lists = apt_lists_folder;
  CLI::App app(explanation, "amity graph");
  app.require_subcommand(1);
  app.footer(formats_help());
  const kernel* chosen = nullptr;
  for (const kernel& each : kernel_table()) {
    CLI::App& its = *app.add_subcommand(std::string(each.name), std::string(each.help));
    add_options(its, each.options, wanted);
    its.callback([&chosen, &each] { chosen = &each; });
  }
  if (argc > 1 && argv[1][0] != '-' &&
      std::ranges::find(kernel_table(), argv[1], &kernel::name) == kernel_table().end()) {
    complain(fmt::format("amity graph: unknown kernel '{}'; `amity graph --help` lists the kernels", argv[1]));
    return usage_error;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }
  wanted.kernel = chosen->name;
  if (wanted.output == standard_output && wanted.json == standard_output) {
    complain("amity graph: --output - and --json - both use standard output; name a file for one of them");
    return usage_error;
  }

  std::string program = "amity";
  std::vector<char*> arguments{program.data()};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  try {
    const int status =
        run(job_settings(wanted), argc + 1, arguments.data(), [&](world& w) { return run_kernel(*chosen, w, wanted); });
    return status == 0 && standard_error_failed() ? 1 : status;
  } catch (const error& mistake) {
    complain(mistake.what());
    return 1;
  }
}

}  // namespace amity::apps::graph
