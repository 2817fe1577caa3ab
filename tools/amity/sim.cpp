// amity sim: runs a program on simulated ranks and explores its schedules.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/base/settings.hpp"
#include "commands.hpp"
#include "explore.hpp"
#include "network_file.hpp"
#include "own_arguments.hpp"
#include "setting_range.hpp"

namespace amity::tools {
namespace {

constexpr auto sim_examples = R"(All arguments after PROGRAM are passed to it.

Faults:
  delay=2us                   delay each packet by a random time of up to 2 us
  put-delay=2us               delay each operation on remote memory by a random time; packets can overtake it
  reorder=5%                  let 5 % of the packets overtake earlier packets
  back-pressure=5%            return 5 % of the credits late
  credits=2                   permit 2 packets in flight from one rank to another
  slow:rank=3,factor=10       slow down rank 3 by a factor of 10
  stop:rank=2,at=1ms,for=5ms  suspend rank 2 for 5 ms of virtual time
  kill:rank=any,at=2ms        kill a rank; any: chosen by the seed

Examples:
  amity sim -n 4096 ./program
  amity sim -n 64 --network aries --explore 1000 ./program
  amity sim -n 64 --network aries --seed 17 --trace out.json ./program
  amity sim -n 16 --fault reorder=5% --fault slow:rank=any,factor=20 ./program

Exit status: that of the program; with --explore, that of the first seed that fails.)";

constexpr auto sim_options_with_value =
    std::to_array<std::string_view>({"-n", "--ranks", "-t", "--threads", "--seed", "--network", "--fault", "--explore",
                                     "--jobs", "--timeout", "--report", "--trace", "--handler"});

/// What AMITY_SIM_DELAY_NS_MAX may be.
constexpr std::int64_t delay_ns_max = 1'000'000'000;

/// What AMITY_SIM_SEED may be.
constexpr std::uint64_t last_seed = std::numeric_limits<std::int64_t>::max();

struct network_fault {
  std::string_view name;
  std::string_view setting;
};

/// Faults of all packets are settings of their own; those of single ranks share one.
constexpr auto network_faults = std::to_array<network_fault>({
    {"delay", "AMITY_SIM_DELAY_NS_MAX"},
    {"put-delay", "AMITY_SIM_REMOTE_DELAY_NS_MAX"},
    {"reorder", "AMITY_SIM_REORDER_PERCENT"},
    {"back-pressure", "AMITY_SIM_BACK_PRESSURE_PERCENT"},
    {"credits", "AMITY_SIM_CREDITS"},
});

struct sim_command {
  rank_t ranks = 0;
  rank_t threads = 0;
  std::optional<std::string> seed;
  std::optional<std::string> network;
  std::vector<std::string> faults;
  std::vector<std::string> handlers;
  bool measured = false;
  std::uint64_t explore = 0;
  unsigned jobs = 0;
  unsigned seconds_max = 300;
  std::string report;
  std::string trace;
  std::vector<std::string> program;  ///< with its arguments
};

/// What options add to, beside what the environment says.
constexpr auto lists = std::to_array<std::string_view>({"AMITY_SIM_FAULTS", "AMITY_SIM_HANDLERS_NS"});

void append(std::string_view list, const std::string& entry, settings& values) {
  const std::string& others = values.text(list);
  values.set(list, others.empty() ? entry : others + ";" + entry);
}

void add_fault(const std::string& fault, settings& values) {
  const auto equals = fault.find('=');
  const auto* const known = std::ranges::find(network_faults, fault.substr(0, equals), &network_fault::name);
  if (known != network_faults.end()) {
    if (equals == fault.npos) {
      throw error("sim", no_rank, fmt::format("--fault {} has no value", fault),
                  "write it as in `amity sim --help`, for example delay=2us");
    }
    values.set(known->setting, fault.substr(equals + 1));
    return;
  }
  if (fault.find(':') == fault.npos) {
    throw error("sim", no_rank, fmt::format("unknown fault: --fault {}", fault), "`amity sim --help` lists the faults");
  }
  append("AMITY_SIM_FAULTS", fault, values);
}

/// TIME for all, or NAME=TIME.
void add_handler(const std::string& handler, settings& values) {
  if (handler.find('=') == handler.npos) return values.set("AMITY_SIM_HANDLER_NS", handler);
  append("AMITY_SIM_HANDLERS_NS", handler, values);
}

settings settings_of(const sim_command& wanted) {
  auto values = settings::from_environment();
  for (const auto& warning : values.warnings()) log_warning(no_rank, warning);
  if (wanted.network) read_network(find_network(*wanted.network), values);
  for (const std::string& fault : wanted.faults) add_fault(fault, values);
  for (const std::string& handler : wanted.handlers) add_handler(handler, values);
  const auto give = [&](std::string_view name, const std::string& value, bool given) {
    if (given) values.set(name, value);
  };
  give("AMITY_FABRIC", "sim", true);
  give("AMITY_RANKS", std::to_string(wanted.ranks), wanted.ranks > 0);
  give("AMITY_THREADS", std::to_string(wanted.threads), wanted.threads > 0);
  give("AMITY_SIM_SEED", wanted.seed.value_or(""), wanted.seed.has_value());
  give("AMITY_SIM_COMPUTE_PERCENT", "100", wanted.measured);
  give("AMITY_SIM_REPORT", wanted.report, !wanted.report.empty());
  give("AMITY_SIM_TRACE", wanted.trace, !wanted.trace.empty());
  return values;
}

bool leaves_something_to_chance(const settings& values) {
  return values.integer("AMITY_SIM_DELAY_NS_MAX") > 0 || values.integer("AMITY_SIM_REMOTE_DELAY_NS_MAX") > 0 ||
         values.integer("AMITY_SIM_REORDER_PERCENT") > 0 || values.integer("AMITY_SIM_BACK_PRESSURE_PERCENT") > 0 ||
         values.text("AMITY_SIM_FAULTS").find("=any") != std::string::npos;
}

/// The program reads its settings from its environment. Its heap lies in large pages where the system has them: with
/// thousands of ranks most accesses would wait for an address translation too.
void hand_down(const settings& values) {
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
  for (const setting_info& each : setting_table()) {
    if (values.where_from(each.name) != settings::origin::program) continue;
    ::setenv(std::string(each.name).c_str(), values.text(each.name).c_str(), 1);
  }
}

std::string quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@^";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

int report_failed_start(const std::string& program, int cause) {
  // Not fmt::print, which throws if standard error is full.
  std::fprintf(stderr, "amity: sim: cannot start %s: %s\n", program.c_str(), std::strerror(cause));
  return cause == ENOENT ? 127 : 126;
}

/// What the environment says, as the shell reads it, but for what options replace. Before anything is handed down.
std::string environment_of(const settings& values) {
  std::string text;
  for (const setting_info& each : setting_table()) {
    const char* const given = std::getenv(std::string(each.name).c_str());
    const bool counts = values.where_from(each.name) == settings::origin::environment ||
                        std::ranges::find(lists, each.name) != lists.end();
    if (counts && given != nullptr) text += fmt::format("{}={} ", each.name, quoted(given));
  }
  return text;
}

/// The command that runs one seed again.
std::string replay(const sim_command& wanted, std::uint64_t seed, const std::string& environment) {
  std::string text = environment + "amity sim";
  if (wanted.ranks > 0) text += fmt::format(" -n {}", wanted.ranks);
  if (wanted.threads > 0) text += fmt::format(" -t {}", wanted.threads);
  text += fmt::format(" --seed {}", seed);
  if (wanted.network) text += fmt::format(" --network {}", quoted(*wanted.network));
  for (const std::string& fault : wanted.faults) text += fmt::format(" --fault {}", quoted(fault));
  for (const std::string& handler : wanted.handlers) text += fmt::format(" --handler {}", quoted(handler));
  if (wanted.measured) text += " --measured";
  for (const std::string& word : wanted.program) text += " " + quoted(word);
  return text;
}

std::string how_it_fails(const run_outcome& failed, const sim_command& wanted) {
  if (failed.too_long) return fmt::format("fails to end within {} s", wanted.seconds_max);
  if (failed.unseen) {
    return "ends with status 0 without a completed simulated job (the program does not call amity::run with the "
           "settings of "
           "its environment, or has called _exit inside it)";
  }
  return fmt::format("fails with status {}", failed.status);
}

int explore_seeds(sim_command wanted) {
  settings values = settings_of(wanted);
  if (!values.text("AMITY_SIM_REPORT").empty() || !values.text("AMITY_SIM_TRACE").empty()) {
    throw error("sim", no_rank, "--explore makes many runs, but a report or a trace describes one run",
                "replay a failing seed with --report or --trace, and unset AMITY_SIM_REPORT and AMITY_SIM_TRACE");
  }
  if (!leaves_something_to_chance(values)) {
    const std::int64_t delay_ns = std::min(4 * values.integer("AMITY_SIM_LATENCY_NS"), delay_ns_max);
    wanted.faults.push_back(fmt::format("delay={}ns", delay_ns));
    fmt::print("amity sim: no random faults are set, so all seeds would give the same run; adding --fault {}\n",
               wanted.faults.back());
    values = settings_of(wanted);
  }
  const auto first = static_cast<std::uint64_t>(values.integer("AMITY_SIM_SEED"));
  if (wanted.explore - 1 > last_seed - first) {
    throw error("sim", no_rank, fmt::format("--explore {} from seed {} on", wanted.explore, first),
                fmt::format("the last seed is {}", last_seed));
  }
  std::string environment = environment_of(values);
  const bool varies_protocol = values.where_from("AMITY_WINDOW_PROTOCOL") == settings::origin::standard;
  hand_down(values);
  std::fflush(stdout);
  const run_outcome failed =
      explore({.command = wanted.program,
               .first_seed = first,
               .seeds = wanted.explore,
               .jobs = wanted.jobs > 0 ? wanted.jobs : std::max(1u, std::thread::hardware_concurrency()),
               .seconds_max = wanted.seconds_max,
               .varies_protocol = varies_protocol});
  if (failed.start_error != 0) return report_failed_start(wanted.program.front(), failed.start_error);
  if (failed.status == 0) {
    fmt::print("amity sim: all {} seeds succeed, {} to {}\n", wanted.explore, first, first + wanted.explore - 1);
    return 0;
  }
  if (varies_protocol && protocol_of(failed.seed) != values.text("AMITY_WINDOW_PROTOCOL"))
    environment += fmt::format("AMITY_WINDOW_PROTOCOL={} ", protocol_of(failed.seed));
  fmt::print("amity sim: seed {} {}; the {} seeds before it succeed. End of its output:\n{}", failed.seed,
             how_it_fails(failed, wanted), failed.seed - first, failed.tail);
  fmt::print("{}replay: {}\n", failed.tail.empty() || failed.tail.ends_with('\n') ? "" : "\n",
             replay(wanted, failed.seed, environment));
  return failed.status;
}

int run_once(const sim_command& wanted) {
  hand_down(settings_of(wanted));
  std::vector<std::string> words = wanted.program;
  std::vector<char*> line;
  for (std::string& word : words) line.push_back(word.data());
  line.push_back(nullptr);
  ::execvp(line.front(), line.data());
  return report_failed_start(wanted.program.front(), errno);
}

}  // namespace

int sim(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(own_arguments(arguments, sim_options_with_value));

  sim_command wanted;
  std::string program;
  CLI::App app("Runs a program on simulated ranks in one process, with a virtual clock and seeded random choices.",
               "amity sim");
  app.footer(sim_examples);
  app.add_option("-n,--ranks", wanted.ranks, "Number of ranks (default: $AMITY_RANKS)")
      ->check(range_of("AMITY_RANKS"))
      ->type_name("N");
  app.add_option("-t,--threads", wanted.threads, "Threads per rank (default: $AMITY_THREADS)")
      ->check(range_of("AMITY_THREADS"))
      ->type_name("T");
  app.add_option("--seed", wanted.seed, "Seed of all random choices; with --explore, the first seed")->type_name("S");
  app.add_option("--network", wanted.network,
                 fmt::format("Network model: {}, or a file; AMITY_SIM_* settings override its values",
                             fmt::join(network_names(), ", ")))
      ->type_name("NAME");
  app.add_option("--fault", wanted.faults, "Inject a fault (see below); may be repeated")
      ->allow_extra_args(false)
      ->type_name("F");
  app.add_option(
         "--handler", wanted.handlers,
         "Virtual time per handled packet, for example 200ns, or of one message type: NAME=200ns; may be repeated")
      ->allow_extra_args(false)
      ->type_name("TIME");
  app.add_flag("--measured", wanted.measured,
               "Charge the measured CPU time of computations; equal seeds then give different runs");
  auto* const explore = app.add_option("--explore", wanted.explore, "Run with N seeds and report the first that fails")
                            ->check(CLI::Range(std::uint64_t{1}, last_seed))
                            ->type_name("N");
  app.add_option("--jobs", wanted.jobs, "Concurrent runs of --explore (default: one per CPU)")
      ->check(CLI::Range(1u, 1024u))
      ->needs(explore)
      ->type_name("J");
  app.add_option("--timeout", wanted.seconds_max, "Wall-clock limit of a run of --explore; a run that exceeds it fails")
      ->check(CLI::Range(1u, 86400u))
      ->needs(explore)
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_option("--report", wanted.report,
                 "Report of how ranks spent their time. table: extremes; FILE.csv or FILE.json: all ranks")
      ->type_name("WHAT");
  app.add_option("--trace", wanted.trace,
                 "Write a trace of all packets and operations on remote memory, for ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option("PROGRAM", program, "Program to run; searched in PATH if it contains no '/'")->required();
  try {
    app.parse(std::vector<std::string>(std::reverse_iterator(rest), arguments.rend()));
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }
  wanted.program.push_back(program);
  wanted.program.insert(wanted.program.end(), rest, arguments.end());
  return wanted.explore > 0 ? explore_seeds(wanted) : run_once(wanted);
}

}  // namespace amity::tools
