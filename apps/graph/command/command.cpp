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
Without FILE or a generator, the graph is that of the distribution's packages: each depends on others, by Depends and
Pre-Depends, with alternatives and virtual packages resolved. Answers are checked, and say by what.)";

std::string formats_help() {
  std::string text = "Formats of FILE, any of them also packed by gzip:\n";
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

std::string ownership_problem(const std::string& word) {
  return parse_ownership(word) ? "" : fmt::format("'{}' is none of block, cyclic and hash", word);
}

void add_sizes_of_made_graph(CLI::App& app, options& wanted) {
  app.add_option("--edge-factor", wanted.edge_factor, "Edges of a made graph for each vertex")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--seed", wanted.seed, "Seed of whatever is random")
      ->check(CLI::Validator(count_problem, "", "seed"))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--ownership", [&](const std::string& word) { wanted.owners = *parse_ownership(word); },
         "How vertices are dealt out to ranks: block, cyclic (the standard) or hash")
      ->check(CLI::Validator(ownership_problem, "", "ownership"));
}

void add_graph_options(CLI::App& app, const takes& groups, options& wanted) {
  CLI::Option* const file =
      app.add_option("FILE", wanted.file, "Graph to work on, or - for standard input; see the formats below")
          ->check(CLI::Validator(emptiness, "", "name"));
  app.add_option("--format", wanted.format, "Format of FILE, where its name and content do not tell")
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
      app.add_flag("--packages", wanted.packages, "The packages, and nothing in their stead")->excludes(file);
  app.add_option("--lists", wanted.lists, "Folder of package lists")->capture_default_str();
  CLI::Option* const kronecker =
      app.add_option("--kronecker", wanted.kronecker, "Make a Graph500 graph of 2^SCALE vertices")
          ->type_name("SCALE")
          ->check(CLI::Range(1, 30))
          ->excludes(file)
          ->excludes(packages);
  app.add_option("--erdos-renyi", wanted.erdos_renyi,
                 "Make a graph of 2^SCALE vertices with edges at random and a cycle through all")
      ->type_name("SCALE")
      ->check(CLI::Range(1, 30))
      ->excludes(file)
      ->excludes(packages)
      ->excludes(kronecker);
  add_sizes_of_made_graph(app, wanted);
  app.add_flag("--reverse", wanted.reverse, "Walk edges backwards: to those that depend on a package");
  app.add_flag("--undirected", wanted.undirected, "Walk edges both ways");
  if (groups.per_vertex) {
    app.add_option("--output", wanted.output,
                   "File for a line of each vertex that was found: its label and what was found of it; - for standard "
                   "output, and the report for standard error")
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
    app.add_option("--root", wanted.root, "Label of the vertex to start from")
        ->check(CLI::Validator(emptiness, "", "label"));
  }
  if (groups.direction || groups.benchmark) {
    app.add_flag("--top-down", wanted.top_down, "Search from above only, also where looking from below is less work");
  }
  if (groups.top) {
    app.add_option("--top", wanted.top, "How many of the farthest, or highest, vertices to show")
        ->check(CLI::Validator(count_problem, "", "count"))
        ->capture_default_str();
  }
  if (groups.iterations) {
    app.add_option("--iterations", wanted.iterations, "Iterations, at most")
        ->check(CLI::Range(1, any))
        ->capture_default_str();
    app.add_option("--tolerance", wanted.tolerance, "Change of all values together below which it ends")
        ->check(CLI::Validator(tolerance_problem, "", "number"))
        ->capture_default_str();
  }
  if (groups.benchmark) {
    app.add_option("--scale", wanted.kronecker, "2^SCALE vertices; 16 if it is not given")->check(CLI::Range(1, 30));
    add_sizes_of_made_graph(app, wanted);
    app.add_option("--delta", wanted.delta, "Width of a bucket of delta-stepping; 0: chosen from the lengths")
        ->check(CLI::Validator(width_problem, "", "width"));
  }
  if (groups.table) {
    app.add_option("--seed", wanted.seed, "Seed of whatever is random")
        ->check(CLI::Validator(count_problem, "", "seed"))
        ->capture_default_str();
    app.add_option("--slots", wanted.slots, "Slots of the table on each thread, of 8 bytes")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
        ->capture_default_str();
    app.add_option("--updates", wanted.updates, "Messages that each thread sends")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
        ->capture_default_str();
  }
  app.add_option("-n,--ranks", wanted.ranks, "Ranks to start; in a job that is already running its own count")
      ->check(range_of("AMITY_RANKS"));
  app.add_option("-t,--threads", wanted.threads, "Threads of each rank; likewise")->check(range_of("AMITY_THREADS"));
  app.add_option("--fabric", wanted.fabric,
                 "How ranks reach each other: shm, threads, sim, mpi, ofi or composite; likewise")
      ->check(CLI::Validator(fabric_problem, "", "fabric"));
  app.add_option("--repeat", wanted.repeat,
                 groups.benchmark ? "Searches by each kernel; 0: 64"
                                  : "Runs, to report the median time; 0: a few if they are short")
      ->check(CLI::Range(0, any))
      ->capture_default_str();
  app.add_flag("--verify,!--no-verify", wanted.verify, "Check the answer (the standard)");
  app.add_option("--json", wanted.json, "File for the result as JSON; - for standard output, in place of the text")
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
    complain(fmt::format("amity graph: there is no kernel '{}'; `amity graph --help` lists them", argv[1]));
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
