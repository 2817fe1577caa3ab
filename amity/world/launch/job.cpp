#include "amity/world/launch/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/log.hpp"

namespace amity::detail {
namespace {

using namespace std::chrono_literals;
using fabric::shm::rank_state;

// A failed job is over within a second, with time to leave in good order, and then to react to SIGTERM. A person who
// interrupts a job may have to wait a little longer, but can do it twice.
constexpr auto time_to_leave = 300ms;
constexpr auto time_to_leave_after_success = 2s;
constexpr auto time_to_end = 400ms;
constexpr auto time_to_end_after_interrupt = 2s;

/// The calls by which programs join and leave a job.
struct api_calls {
  const char* join;
  const char* early_end;  ///< how a rank ended that has joined and not left
};
api_calls calls_of(fabric::shm::job_api api) {
  if (api == fabric::shm::job_api::openshmem) return {"shmem_init", "without a call of shmem_finalize"};
  return {"amity::run", "inside amity::run, without leaving it"};
}

// How often to look at what announces itself by no event: a rank that joins a job which it should not, and our place
// in the foreground.
constexpr auto closer_look = 200ms;

// How long to wait for more output from processes that the ranks have left behind.
constexpr auto silence = 1s;

}  // namespace

job::job(const launch_options& options)
    : options_(options),
      threads_(options.threads),
      has_descriptors_(rank_process::has_descriptors()),
      memory_(fabric::shm::job_memory::create(options.ranks * options.threads)),
      signals_(!has_descriptors_),
      output_target_(STDOUT_FILENO),
      error_target_(STDERR_FILENO),
      output_(output_target_),
      errors_(error_target_),
      guard_(static_cast<std::size_t>(options.ranks)) {
  output_target_.take_turns_with(error_target_);
  ranks_.reserve(static_cast<std::size_t>(options.ranks));
  if (::isatty(STDIN_FILENO) != 0) input_.emplace(STDIN_FILENO);
}

/// Between two starts, signals and the ends of ranks are handled.
void job::start_ranks() {
  rank_starter starter(options_, {.job_fd = memory_.fd(),
                                  .guard_fd = guard_.fd(),
                                  .signal_mask = &signals_.outer_mask(),
                                  .typed = input_ ? input_->take_reading_end() : file_descriptor()});
  while (stage_ == stage::running && size() < options_.ranks) {
    start_rank(starter);
    wait_for_events(clock::duration::zero());
    take_ends();
  }
}

void job::start_rank(rank_starter& starter) {
  const rank_t rank = size();
  file_descriptor output, errors;
  if (options_.prefix_output) {
    output = output_.add(fmt::format("[{}] ", rank));
    errors = errors_.add(fmt::format("[{}] ", rank));
  }
  ranks_.push_back(starter.start(rank, output ? output.get() : STDOUT_FILENO, errors ? errors.get() : STDERR_FILENO));
  ++running_;
  if (has_descriptors_) ends_.add(ranks_.back().fd(), static_cast<std::size_t>(rank));
}

int job::run() {
  start_ranks();
  while (anyone_runs()) {
    wait_for_events(time_to_sleep());
    take_ends();
    advance();
  }
  if (!settled_ && first_failure_) settle(*first_failure_);
  // After a success without signals, processes that ranks have left behind continue.
  if (stage_ != stage::running && !(has_succeeded_ && stage_ == stage::leaving)) signal_all(SIGKILL);

  const int interrupts_before = interrupts_;
  while (!(output_.done() && errors_.done()) && interrupts_ == interrupts_before) {
    const bool woken = wait_for_events(silence);
    // A reader may pause as long as it likes, unless the user has interrupted the job.
    if (!woken && (interrupts_ > 0 || (output_.flushed() && errors_.flushed()))) break;
  }
  return status_;
}

bool job::wait_for_events(std::optional<clock::duration> limit) {
  poll_set polls;
  polls.watch(signals_.fd(), POLLIN);
  polls.watch(ends_.fd(), POLLIN);
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

std::optional<job::clock::duration> job::time_to_sleep() {
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
      case SIGCHLD:
        child_signal_ = true;
        break;
      case SIGUSR1:
        // Not to the groups: other processes of a rank do not expect it.
        for (const auto& rank : ranks_) rank.signal(SIGUSR1);
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
  if (stage_ != stage::running && !(has_succeeded_ && interrupts_ == 1)) return kill();
  settle({128 + signal, fmt::format("received signal {} ({})", signal, ::strsignal(signal))}, "all ranks");
  tell_to_end(signal, time_to_end_after_interrupt);
}

/// Returns all ranks that have ended since the last call. Without descriptors of processes, SIGCHLD does not reveal
/// which they are: each process is asked.
std::vector<rank_t> job::take_ended_ranks() {
  std::vector<rank_t> ended;
  const auto look_at = [&](rank_t rank) {
    rank_process& process = process_of(rank);
    if (process.end() || !process.has_ended()) return;
    if (has_descriptors_) ends_.remove(process.fd());
    process.close_fd();
    --running_;
    ended.push_back(rank);
  };
  if (has_descriptors_) {
    for (bool more = true; more;) {
      const std::size_t known = ended.size();
      for (const std::size_t rank : ends_.ready()) look_at(static_cast<rank_t>(rank));
      more = ended.size() > known;
    }
  } else if (std::exchange(child_signal_, false)) {
    for (rank_t rank = 0; rank < size(); ++rank) look_at(rank);
  }
  return ended;
}

void job::take_ends() {
  std::vector<rank_t> ended = take_ended_ranks();
  // The last output of a rank comes before the message about its end.
  for (const rank_t rank : ended) {
    output_.read_rest(static_cast<std::size_t>(rank));
    errors_.read_rest(static_cast<std::size_t>(rank));
  }
  // Of several ends at once, one by a signal comes first, and then that of the rank that has aborted the job: others
  // end because of them, not before.
  std::ranges::stable_partition(ended, [culprit = culprit()](rank_t rank) { return rank == culprit; });
  std::ranges::stable_partition(ended, [this](rank_t rank) { return process_of(rank).end()->by_signal; });
  for (const rank_t rank : ended) rank_ended(rank);
  if (!settled_ && deserter() != no_rank && clock::now() >= next_look_) look_for_waiting_ranks();
}

void job::look_for_waiting_ranks() {
  next_look_ = clock::now() + closer_look;
  for (rank_t rank = 0; rank < size(); ++rank) {
    if (process_of(rank).end() || state_of(rank) != rank_state::joined) continue;
    return settle({1, fmt::format("{} exited without calling {}, where rank {} waits for it", name_of(deserter()),
                                  calls_of(memory_.notes().api).join, rank)});
  }
}

/// The rank that has aborted the job, if one has.
rank_t job::culprit() const noexcept {
  const rank_t lane = memory_.aborted_by();
  return lane == no_rank ? no_rank : lane / threads_;
}

/// A rank that has ended well without having joined the job. That is no error unless another rank joins it.
rank_t job::deserter() noexcept {
  // A process that the rank has left behind may have joined in its place.
  while (!absent_ends_.empty() && state_of(absent_ends_.back()) != rank_state::absent) absent_ends_.pop_back();
  return absent_ends_.empty() ? no_rank : absent_ends_.back();
}

void job::rank_ended(rank_t rank) {
  if (settled_ || has_succeeded_) return;
  if (process_of(rank).end()->well() && state_of(rank) == rank_state::absent) absent_ends_.push_back(rank);
  const auto found = judge(rank);
  if (!found && !first_failure_ && memory_.notes().succeeded) return settle_success();
  // A rank that aborts the job knows the cause, but the others may be gone before it: wait for what becomes of it.
  const rank_t aborter = culprit();
  const bool aborter_runs = aborter != no_rank && aborter < size() && !process_of(aborter).end();
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
  const auto end = *process_of(rank).end();
  const int status = end.exit_status();
  if (end.by_signal) {
    return verdict{status,
                   fmt::format("{} was killed by signal {} ({})", name_of(rank), end.number, ::strsignal(end.number))};
  }
  if (end.number != 0) return verdict{status, fmt::format("{} exited with status {}", name_of(rank), end.number)};
  if (state_of(rank) != rank_state::joined || memory_.notes().succeeded) return std::nullopt;
  return verdict{1, fmt::format("{} exited with status 0 {}", name_of(rank), calls_of(memory_.notes().api).early_end)};
}

std::string job::name_of(rank_t rank) const { return fmt::format("rank {} (pid {})", rank, process_of(rank).pid()); }

void job::settle(const verdict& found, std::string_view victims) {
  settled_ = true;
  status_ = found.status;
  errors_.add_line(
      fmt::format("amity: {}{}{}", found.text, anyone_runs() ? "; ending " : "", anyone_runs() ? victims : ""));
  if (stage_ == stage::running) ask_to_leave();
}

/// A rank has ended the job well. Those that wait for others learn it from that rank, and leave by themselves.
void job::settle_success() {
  has_succeeded_ = true;
  if (stage_ == stage::running) let_leave(time_to_leave_after_success);
}

void job::ask_to_leave() {
  memory_.abort(no_rank);
  let_leave(time_to_leave);
}

void job::let_leave(clock::duration time) {
  stage_ = stage::leaving;
  stage_end_ = clock::now() + time;
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
