#include "amity/world/launch/rank_starter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/node.hpp"

namespace amity::detail {
namespace {

/// One for each thread of the rank, as long as there are enough.
cpu_set_t cpus_of(rank_t rank, rank_t threads, const std::vector<std::size_t>& allowed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (rank_t lane = rank * threads; lane < (rank + 1) * threads; ++lane) {
    CPU_SET(allowed[static_cast<std::size_t>(lane) % allowed.size()], &set);
  }
  return set;
}

/// The launcher's environment with our variables in place of any that it has under the same names.
std::vector<std::string> merged_environment(const std::vector<std::string>& additions) {
  std::vector<std::string> merged;
  const auto same_name = [](std::string_view a, std::string_view b) {
    return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
  };
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const bool replaced =
        std::ranges::any_of(additions, [&](const auto& added) { return same_name(added, *variable); });
    if (!replaced) merged.emplace_back(*variable);
  }
  merged.insert(merged.end(), additions.begin(), additions.end());
  return merged;
}

/// As exec wants it: valid as long as the strings are.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

rank_starter::rank_starter(const launch_options& options, common shared)
    : shared_(std::move(shared)),
      command_(options.command),
      arguments_(pointers_to(command_)),
      program_(options.program.empty() ? options.command.front() : options.program),
      threads_(options.threads),
      nothing_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (!nothing_) {
    throw error("launch", no_rank, fmt::format("cannot open /dev/null: {}", std::strerror(errno)),
                "provide /dev/null, or raise the limit of open files (ulimit -n)");
  }
  auto additions = options.environment;
  additions.push_back(fmt::format("AMITY_RANKS={}", options.ranks));
  additions.push_back(fmt::format("AMITY_JOB_FD={}", shared_.job_fd));
  additions.push_back("AMITY_FABRIC=" + options.fabric);
  additions.push_back("AMITY_RANK=");  // last, and different for each rank
  environment_ = merged_environment(additions);
  if (options.pin) cpus_ = fabric::allowed_cpus().numbers();
}

rank_process rank_starter::start(rank_t rank, int output_fd, int error_fd) {
  environment_.back() = fmt::format("AMITY_RANK={}", rank);
  const auto variables = pointers_to(environment_);
  const int input = rank > 0 ? nothing_.get() : shared_.typed ? shared_.typed.get() : STDIN_FILENO;
  cpu_set_t own_cpus;
  if (!cpus_.empty()) own_cpus = cpus_of(rank, threads_, cpus_);
  int reason = 0;
  auto started = rank_process::start({.program = program_.c_str(),
                                      .arguments = arguments_.data(),
                                      .environment = variables.data(),
                                      .guard_fd = shared_.guard_fd,
                                      .inherited_fd = shared_.job_fd,
                                      .input_fd = input,
                                      .output_fd = output_fd,
                                      .error_fd = error_fd,
                                      .cpus = cpus_.empty() ? nullptr : &own_cpus,
                                      .signal_mask = shared_.signal_mask},
                                     reason);
  if (!started) throw program_not_started{reason};
  // The launcher keeps no end of the pipe: rank 0 notices at its end that the input has ended.
  if (rank == 0) shared_.typed.reset();
  return std::move(*started);
}

}  // namespace amity::detail
