#include "bench/harness.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amity::bench {
namespace {

constexpr double job_seconds_max = 60;

/// This program, whose jobs are runs of itself.
std::string own_path() {
  std::array<char, 4096> path;
  const auto length = readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0) throw std::runtime_error("cannot read /proc/self/exe");
  return {path.data(), static_cast<std::size_t>(length)};
}

/// The last line of a job's output is its sample.
sample parse_sample(const job& from, const std::string& output) {
  const auto end = output.find_last_not_of('\n');
  const auto begin = output.find_last_of('\n', end);
  const auto line = output.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
  try {
    return nlohmann::json::parse(line).get<sample>();
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("'" + from.run.words.front() + "' printed no sample but '" + output + "'");
  }
}

/// Passes on what a job with amity's library has written to standard error, but the reports. Throws unless the library
/// reports that it serves all windows.
void check_reports(const job& of, const std::string& errors) {
  bool is_served = false, is_native = false;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("serves the windows of this job") != std::string::npos) {
      is_served = true;
    } else if (!line.ends_with("one-sided calls passed to the MPI: 0")) {
      fmt::print(stderr, "{}\n", line);
      is_native |= line.find("one-sided calls passed to the MPI:") != std::string::npos;
    }
  }
  if (is_native) throw std::runtime_error("'" + of.name + "' passed one-sided calls to the MPI");
  if (!is_served) throw std::runtime_error("'" + of.name + "' ran without amity's library: its report is missing");
}

std::string output_of_served(const job& which, const command& call) {
  std::string output, errors;
  try {
    output = run_command(call, job_seconds_max, &errors);
  } catch (const std::runtime_error&) {
    fmt::print(stderr, "{}", errors);
    throw;
  }
  check_reports(which, errors);
  return output;
}

sample run_once(const job& which, int round) {
  auto call = which.run;
  if (which.seeded) call.environment.push_back("AMITY_SIM_SEED=" + std::to_string(round + 1));
  return parse_sample(which, which.is_served ? output_of_served(which, call) : run_command(call, job_seconds_max));
}

std::vector<double> values_of(std::span<const sample> samples, const std::string& key) {
  std::vector<double> values;
  for (const auto& one : samples) {
    const auto found = one.find(key);
    if (found == one.end()) throw std::runtime_error("a sample lacks '" + key + "'");
    values.push_back(found->second);
  }
  return values;
}

bool larger_is_better(const figure& one) {
  return !one.wanted.empty() && one.wanted.front().is == asked::sense::at_least;
}

/// A job with the samples of its rounds.
struct measured_job {
  const job* which;
  std::vector<sample> samples;
};

/// Returns the peer whose median is best; null if there is none.
const measured_job* best_of(std::span<const measured_job> peers, const figure& one) {
  const auto value = [&](const measured_job& each) {
    const double median = summarise(values_of(each.samples, one.ours)).median;
    return larger_is_better(one) ? -median : median;
  };
  const auto best = std::ranges::min_element(peers, {}, value);
  return best == peers.end() ? nullptr : &*best;
}

std::optional<comparison> compare_with(const std::optional<job>& other, std::span<const sample> samples,
                                       const std::string& key, std::span<const double> ours) {
  if (!other || key.empty()) return std::nullopt;
  const auto theirs = values_of(samples, key);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  return comparison{other->name, summarise(theirs).median, summarise(ratios).median};
}

job self(std::string name, std::string_view what, arguments args, bool tiny) {
  job result{std::move(name), {{own_path(), "--job", std::string(what)}, {}}};
  if (tiny) result.run.words.emplace_back("--tiny");
  for (const auto& [key, value] : args) result.run.words.push_back("--with=" + key + "=" + value);
  return result;
}

#ifdef AMITY_BENCH_MPIRUN
constexpr std::string_view mpirun = AMITY_BENCH_MPIRUN;
constexpr std::string_view open_mpi_program = AMITY_BENCH_MPI_PROGRAM;
#else
constexpr std::string_view mpirun, open_mpi_program;
#endif

/// A program that was built only if what it needs was found: nothing if it is not there.
std::optional<job> peer(const std::filesystem::path& program, std::string name, std::vector<std::string> words,
                        int ranks) {
  if ((ranks > 0 && mpirun.empty()) || !std::filesystem::exists(program)) return std::nullopt;
  job result{std::move(name), {}};
  auto& line = result.run.words;
  // Debian's mpirun refuses to run as root, as in a container, unless told twice or by this option.
  if (ranks > 0) {
    line = {std::string(mpirun), "--allow-run-as-root", "-n", std::to_string(ranks), "--bind-to"};
    if (ranks <= static_cast<int>(std::thread::hardware_concurrency())) {
      line.emplace_back("core");
    } else {
      line.insert(line.end(), {"none", "--oversubscribe"});
    }
  }
  line.push_back(program.string());
  line.insert(line.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  return result;
}

/// The variables are for Open MPI, which refuses root without them, and for MPICH. Each rank gets a core; if there are
/// more ranks than cores, none does.
void start_with_mpi(job& which, const mpi_installation& mpi, int ranks) {
  const std::vector<std::string> launcher{std::string(mpi.launcher), "-n", std::to_string(ranks)};
  which.run.words.insert(which.run.words.begin(), launcher.begin(), launcher.end());
  which.run.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  const bool oversubscribed = ranks > static_cast<int>(std::thread::hardware_concurrency());
  const std::string binding = oversubscribed ? "none" : "core";
  which.run.environment.push_back("OMPI_MCA_hwloc_base_binding_policy=" + binding);
  which.run.environment.push_back("HYDRA_BINDING=" + binding);
  if (oversubscribed) which.run.environment.emplace_back("OMPI_MCA_rmaps_base_oversubscribe=1");
}

job mpi_program(const mpi_installation& mpi, std::string_view program, int ranks, std::string name,
                std::vector<std::string> words) {
  job result{std::move(name), {std::move(words), {}}};
  result.run.words.emplace(result.run.words.begin(), program);
  start_with_mpi(result, mpi, ranks);
  return result;
}

}  // namespace

std::vector<mpi_installation> mpi_installations() {
  std::vector<mpi_installation> all;
#ifdef AMITY_BENCH_LAUNCHER_OPENMPI
  all.push_back({.name = "Open MPI",
                 .launcher = AMITY_BENCH_LAUNCHER_OPENMPI,
                 .peer = AMITY_BENCH_PEER_OPENMPI,
                 .window = AMITY_BENCH_WINDOW_OPENMPI,
                 .osc = AMITY_BENCH_OSC_OPENMPI,
                 .drop_in = AMITY_BENCH_DROP_IN_OPENMPI});
#endif
#ifdef AMITY_BENCH_LAUNCHER_MPICH
  all.push_back({.name = "MPICH",
                 .launcher = AMITY_BENCH_LAUNCHER_MPICH,
                 .peer = AMITY_BENCH_PEER_MPICH,
                 .window = AMITY_BENCH_WINDOW_MPICH,
                 .osc = AMITY_BENCH_OSC_MPICH,
                 .drop_in = AMITY_BENCH_DROP_IN_MPICH});
#endif
  return all;
}

void print_sample(const sample& measured) {
  fmt::print("{}\n", nlohmann::json(measured).dump());
  std::fflush(stdout);
}

void driver::run(const benchmark& which) {
  running_ = &which;
  which.drive(*this);
  running_ = nullptr;
}

job driver::ranks(int count, arguments args, std::vector<std::string> settings) const {
  return ranks(*running_, count, std::move(args), std::move(settings));
}

job driver::ranks(const benchmark& which, int count, arguments args, std::vector<std::string> settings) const {
  auto result = self(fmt::format("{} ranks", count), which.name, std::move(args), tiny_);
  result.run.environment = std::move(settings);
  result.run.environment.push_back(fmt::format("AMITY_RANKS={}", count));
  return result;
}

job driver::mpi_ranks(const mpi_installation& mpi, const benchmark& which, int count, arguments args) const {
  auto result = self(fmt::format("{} ranks over {}", count, mpi.name), which.name, std::move(args), tiny_);
  start_with_mpi(result, mpi, count);
  result.run.environment.emplace_back("AMITY_FABRIC=mpi");
  return result;
}

job driver::mpi_peer(const mpi_installation& mpi, std::string name, std::vector<std::string> words) const {
  return mpi_program(mpi, mpi.peer, 2, std::move(name), std::move(words));
}

job driver::mpi_window(const mpi_installation& mpi, int count, std::vector<std::string> words) const {
  job result = mpi_program(mpi, mpi.window, count, std::string(mpi.name), std::move(words));
  // The program ends without MPI_Finalize then. Without this option, the launcher kills the ranks that end last.
  if (mpi.name == "MPICH") result.run.words.insert(result.run.words.begin() + 1, "-disable-auto-cleanup");
  return result;
}

job driver::mpi_osc(const mpi_installation& mpi, int count, std::vector<std::string> words, bool with_drop_in) const {
  words.emplace(words.begin(), mpi.osc);
  // Not for the launcher itself.
  if (with_drop_in) words.insert(words.begin(), {"env", fmt::format("LD_PRELOAD={}", mpi.drop_in)});
  job result{fmt::format("{} {}", with_drop_in ? "amity under" : "native", mpi.name), {std::move(words), {}}};
  start_with_mpi(result, mpi, count);
  if (with_drop_in) result.run.environment.emplace_back("AMITY_MPI_REPORT=1");
  result.is_served = with_drop_in;
  return result;
}

job driver::raw(std::string_view which, std::string name, arguments args) const {
  return self(std::move(name), which, std::move(args), tiny_);
}

std::optional<job> driver::open_mpi(std::string name, std::vector<std::string> words,
                                    std::vector<std::string> settings) const {
  auto result = peer(open_mpi_program, std::move(name), std::move(words), 2);
  if (result) result->run.environment = std::move(settings);
  return result;
}

std::optional<job> driver::comparison(std::string_view program, std::string name, std::vector<std::string> words,
                                      int ranks) const {
  const auto built = std::filesystem::path(own_path()).parent_path() / "compare" / program;
  return peer(built, std::move(name), std::move(words), ranks);
}

sample driver::measure(const job& which) const { return run_once(which, 0); }

bool driver::measure_peer(const job& peer, int round, std::vector<sample>& samples) {
  try {
    samples.push_back(run_once(peer, round));
    return true;
  } catch (const std::runtime_error& failure) {
    notes_.push_back(fmt::format("{} failed and is left out: {}", peer.name, failure.what()));
    return false;
  }
}

void driver::compare(contest jobs, std::span<const figure> figures) {
  std::vector<sample> ours;
  std::vector<sample> limits;
  std::vector<sample> peers;
  const int rounds = tiny_ ? 1 : jobs.rounds;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(run_once(jobs.ours, round));
    if (jobs.limit) limits.push_back(run_once(*jobs.limit, round));
    if (jobs.peer && !measure_peer(*jobs.peer, round, peers)) jobs.peer.reset();
  }
  for (const auto& one : figures) {
    const auto values = values_of(ours, one.ours);
    rows_.push_back({std::string(running_->name), one.config, one.metric, one.unit, summarise(values),
                     compare_with(jobs.peer, peers, one.peer, values),
                     compare_with(jobs.limit, limits, one.limit, values), one.wanted});
  }
}

void driver::compare_with_best(const open_contest& jobs, std::span<const figure> figures) {
  const auto of = [](const job& each) { return measured_job{&each, {}}; };
  std::vector<measured_job> ours, peers;
  std::ranges::transform(jobs.ours, std::back_inserter(ours), of);
  std::ranges::transform(jobs.peers, std::back_inserter(peers), of);
  const int rounds = tiny_ ? 1 : jobs.rounds;
  for (int round = 0; round < rounds; ++round) {
    for (measured_job& each : ours) each.samples.push_back(run_once(*each.which, round));
    for (auto each = peers.begin(); each != peers.end();)
      each = measure_peer(*each->which, round, each->samples) ? each + 1 : peers.erase(each);
  }
  for (const auto& one : figures) {
    const auto add = [&](const measured_job& each, const measured_job* best) {
      const auto values = values_of(each.samples, one.ours);
      row& added =
          rows_.emplace_back(row{std::string(running_->name), fmt::format("{}: {}", one.config, each.which->name),
                                 one.metric, one.unit, summarise(values)});
      if (best == nullptr) return;
      added.peer = compare_with(*best->which, best->samples, one.ours, values);
    };
    const measured_job* const best = best_of(peers, one);
    for (const measured_job& each : ours) {
      add(each, best);
      rows_.back().wanted = one.wanted;
    }
    for (const measured_job& each : peers) add(each, nullptr);
  }
}

}  // namespace amity::bench
