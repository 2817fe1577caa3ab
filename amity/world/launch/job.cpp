#include "amity/world/launch/job.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/log.hpp"
#include "amity/fabric/node.hpp"

namespace amity::detail {
namespace {

using namespace std::chrono_literals;
using fabric::shm::rank_state;

// A failed job is over within a second, with time to leave in good order, and then to react to SIGTERM. A person who
// interrupts a job may have to wait a little longer, but can do it twice.
constexpr auto time_to_leave = 300ms;
constexpr auto time_to_end = 400ms;
constexpr auto time_to_end_after_interrupt = 2s;

// How often to look at what announces itself by no event: a rank that joins a job which it should not, and our place
// in the foreground.
constexpr auto closer_look = 200ms;

// How long to wait for more output from processes that the ranks have left behind.
constexpr auto silence = 1s;

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

job::job(const launch_options& options)
    : threads_(options.threads),
      memory_(fabric::shm::job_memory::create(options.ranks * options.threads)),
      output_target_(STDOUT_FILENO),
      error_target_(STDERR_FILENO),
      output_(output_target_),
      errors_(error_target_),
      guard_(static_cast<std::size_t>(options.ranks)) {
  output_target_.take_turns_with(error_target_);
  ranks_.reserve(static_cast<std::size_t>(options.ranks));
  if (::isatty(STDIN_FILENO) != 0) input_.emplace(STDIN_FILENO);
  start_ranks(options);
}

void job::start_ranks(const launch_options& options) {
  auto additions = options.environment;
  additions.push_back(fmt::format("AMITY_RANKS={}", options.ranks));
  additions.push_back(fmt::format("AMITY_JOB_FD={}", memory_.fd()));
  additions.push_back("AMITY_FABRIC=" + options.fabric);
  additions.push_back("AMITY_RANK=");  // last, and different for each rank
  auto environment = merged_environment(additions);
  auto command = options.command;
  const std::string& program = options.program.empty() ? options.command.front() : options.program;
  const auto arguments = pointers_to(command);
  const auto cpus = options.pin ? fabric::allowed_cpus().numbers() : std::vector<std::size_t>{};

  const file_descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const file_descriptor typed = input_ ? input_->take_reading_end() : file_descriptor();
  for (rank_t rank = 0; rank < options.ranks; ++rank) {
    environment.back() = fmt::format("AMITY_RANK={}", rank);
    const auto variables = pointers_to(environment);
    file_descriptor output, errors;
    if (options.prefix_output) {
      output = output_.add(fmt::format("[{}] ", rank));
      errors = errors_.add(fmt::format("[{}] ", rank));
    }
    const int input = rank > 0 ? nothing.get() : typed ? typed.get() : STDIN_FILENO;
    cpu_set_t own_cpus;
    if (options.pin) own_cpus = cpus_of(rank, options.threads, cpus);
    int reason = 0;
    auto started = rank_process::start({.program = program.c_str(),
                                        .arguments = arguments.data(),
                                        .environment = variables.data(),
                                        .guard_fd = guard_.fd(),
                                        .inherited_fd = memory_.fd(),
                                        .input_fd = input,
                                        .output_fd = output ? output.get() : STDOUT_FILENO,
                                        .error_fd = errors ? errors.get() : STDERR_FILENO,
                                        .cpus = options.pin ? &own_cpus : nullptr,
                                        .signal_mask = &signals_.outer_mask()},
                                       reason);
    if (!started) throw program_not_started{reason};
    ranks_.push_back(std::move(*started));
  }
}

int job::run() {
  while (anyone_runs()) {
    wait_for_events(time_to_sleep());
    take_ends();
    advance();
  }
  if (!settled_ && first_failure_) settle(*first_failure_);
  if (stage_ != stage::running) signal_all(SIGKILL);

  const int interrupts_before = interrupts_;
  while (!(output_.done() && errors_.done()) && interrupts_ == interrupts_before) {
    const bool woken = wait_for_events(silence);
    // A reader may pause as long as it likes, unless the user has interrupted the job.
    if (!woken && (interrupts_ > 0 || (output_.flushed() && errors_.flushed()))) break;
  }
  return status_;
}

bool job::anyone_runs() const noexcept {
  return std::ranges::any_of(ranks_, [](const auto& rank) { return !rank.end(); });
}

bool job::wait_for_events(std::optional<clock::duration> limit) {
  poll_set polls;
  polls.watch(signals_.fd(), POLLIN);
  for (const auto& rank : ranks_) {
    if (!rank.end()) polls.watch(rank.fd(), POLLIN);
  }
  output_.watch(polls);
  errors_.watch(polls);
  if (input_) input_->watch(polls);
  const bool woken = polls.wait(limit);
  if (polls.ready(signals_.fd()) != 0) take_signals();
  output_.react(polls);
  errors_.react(polls);
  take_write_failures();
  if (input_) input_->react(polls);
  return woken;
}

void job::take_output() {
  poll_set polls;
  output_.watch(polls);
  errors_.watch(polls);
  polls.wait(clock::duration::zero());
  output_.react(polls);
  errors_.react(polls);
  take_write_failures();
}

void job::take_write_failures() {
  if (const int reason = output_.take_failure()) write_failed("standard output", reason);
  if (const int reason = errors_.take_failure()) write_failed("standard error", reason);
}

/// Ends the job: what the ranks print from now on is lost. If standard error failed, only the status reports it.
void job::write_failed(std::string_view stream, int reason) {
  const bool closed = reason == EPIPE;
  const std::string text = fmt::format("run: cannot write to {}: {}{}", stream, std::strerror(reason),
                                       closed ? "" : "; redirect it to a file with free space");
  if (settled_ || first_failure_) return errors_.add_line("amity: " + text);
  // As the shell reports a process that SIGPIPE has ended.
  settle({closed ? 128 + SIGPIPE : 1, text}, "all ranks");
}

std::optional<job::clock::duration> job::time_to_sleep() const {
  std::optional<clock::duration> limit;
  if (stage_ == stage::leaving || stage_ == stage::told_to_end) limit = stage_end_ - clock::now();
  const bool one_may_come_too_late = deserter() != no_rank;
  if (one_may_come_too_late || (input_ && input_->paused()))
    limit = std::min<clock::duration>(limit.value_or(closer_look), closer_look);
  return limit;
}

void job::take_signals() {
  while (const auto signal = signals_.next()) {
    switch (*signal) {
      case SIGPIPE:
      case SIGTTIN:
        break;
      case SIGCONT:
        signal_all(SIGCONT);
        break;
      case SIGTSTP:
        signal_all(SIGSTOP);
        ::raise(SIGSTOP);
        break;
      default:
        interrupt(*signal);
    }
  }
}

void job::interrupt(int signal) {
  ++interrupts_;
  if (stage_ != stage::running) return kill();
  settle({128 + signal, fmt::format("received signal {} ({})", signal, ::strsignal(signal))}, "all ranks");
  tell_to_end(signal, time_to_end_after_interrupt);
}

void job::take_ends() {
  std::vector<rank_t> ended;
  for (rank_t rank = 0; rank < size(); ++rank) {
    auto& process = ranks_[static_cast<std::size_t>(rank)];
    if (!process.end() && process.has_ended()) ended.push_back(rank);
  }
  if (!ended.empty()) take_output();  // what a rank has said comes before what is said of its end
  // Of several ends at once, one by a signal comes first, and then that of the rank that has aborted the job: others
  // end because of them, not before.
  std::ranges::stable_partition(ended, [culprit = culprit()](rank_t rank) { return rank == culprit; });
  std::ranges::stable_partition(
      ended, [this](rank_t rank) { return ranks_[static_cast<std::size_t>(rank)].end()->by_signal; });
  for (const rank_t rank : ended) rank_ended(rank);
  const rank_t missing = deserter();
  if (settled_ || missing == no_rank) return;
  for (rank_t rank = 0; rank < size(); ++rank) {
    if (ranks_[static_cast<std::size_t>(rank)].end() || state_of(rank) != rank_state::joined) continue;
    return settle(
        {1, fmt::format("{} exited without calling amity::run, where rank {} waits for it", name_of(missing), rank)});
  }
}

/// The rank that has aborted the job, if one has.
rank_t job::culprit() const noexcept {
  const rank_t lane = memory_.aborted_by();
  return lane == no_rank ? no_rank : lane / threads_;
}

/// A rank that has ended well without having joined the job. That is fine as long as nobody joins it.
rank_t job::deserter() const noexcept {
  for (rank_t rank = 0; rank < size(); ++rank) {
    const auto& end = ranks_[static_cast<std::size_t>(rank)].end();
    if (end && end->well() && state_of(rank) == rank_state::absent) return rank;
  }
  return no_rank;
}

void job::rank_ended(rank_t rank) {
  if (settled_) return;
  const auto found = judge(rank);
  // A rank that aborts the job knows the cause, but the others may be gone before it: wait for what becomes of it.
  const rank_t aborter = culprit();
  const bool aborter_runs = aborter != no_rank && !ranks_[static_cast<std::size_t>(aborter)].end();
  if (found && !aborter_runs) return settle(*found);
  if (!found) {
    if (rank == aborter && first_failure_) settle(*first_failure_);
    return;
  }
  if (!first_failure_) first_failure_ = found;
  if (stage_ == stage::running) ask_to_leave();
}

/// What is wrong with the end of a rank, if anything.
std::optional<job::verdict> job::judge(rank_t rank) const {
  const auto end = *ranks_[static_cast<std::size_t>(rank)].end();
  const int status = end.exit_status();
  if (end.by_signal) {
    return verdict{status,
                   fmt::format("{} was killed by signal {} ({})", name_of(rank), end.number, ::strsignal(end.number))};
  }
  if (end.number != 0) return verdict{status, fmt::format("{} exited with status {}", name_of(rank), end.number)};
  if (state_of(rank) != rank_state::joined) return std::nullopt;
  return verdict{1, fmt::format("{} exited with status 0 inside amity::run, without leaving it", name_of(rank))};
}

std::string job::name_of(rank_t rank) const {
  return fmt::format("rank {} (pid {})", rank, ranks_[static_cast<std::size_t>(rank)].pid());
}

void job::settle(const verdict& found, std::string_view victims) {
  settled_ = true;
  status_ = found.status;
  errors_.add_line(
      fmt::format("amity: {}{}{}", found.text, anyone_runs() ? "; ending " : "", anyone_runs() ? victims : ""));
  if (stage_ == stage::running) ask_to_leave();
}

void job::ask_to_leave() {
  memory_.abort(no_rank);
  stage_ = stage::leaving;
  stage_end_ = clock::now() + time_to_leave;
}

void job::tell_to_end(int signal, clock::duration time) {
  signal_all(signal);
  stage_ = stage::told_to_end;
  stage_end_ = clock::now() + time;
}

void job::kill() {
  signal_all(SIGKILL);
  stage_ = stage::killed;
}

void job::advance() {
  if (stage_ == stage::running || stage_ == stage::killed || clock::now() < stage_end_) return;
  if (!settled_ && first_failure_) settle(*first_failure_);
  if (stage_ == stage::leaving) {
    tell_to_end(SIGTERM, time_to_end);
  } else {
    kill();
  }
}

void job::signal_all(int signal) const noexcept {
  for (const auto& rank : ranks_) rank.signal_group(signal);
}

}  // namespace amity::detail
