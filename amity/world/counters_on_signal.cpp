#include "amity/world/counters_on_signal.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "amity/base/published.hpp"
#include "amity/base/signal_line.hpp"

namespace amity::detail {
namespace {

// Thousands of simulated ranks share a process.
constexpr std::size_t ranks_shown_max = 64;
constexpr std::size_t name_bytes_max = 200;

using job_list = std::vector<const counters_on_signal*>;

// A signal handler has no parameter for its state.
struct {
  std::mutex mutex;  ///< guards changes
  published<job_list> jobs;
  std::atomic<pid_t> process = 0;  ///< of the jobs; a forked process has a copy of the handler
  std::atomic_flag prints;
} constinit reporting;

/// The turn of a signal handler to print, so that the lines of two reports do not mix. Taken without the flag if
/// another thread keeps it for a second.
class print_turn : private immovable {
 public:
  print_turn() noexcept {
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (!reporting.prints.test_and_set(std::memory_order_acquire)) {
        has_flag_ = true;
        return;
      }
      ::poll(nullptr, 0, 10);
    }
  }
  ~print_turn() {
    if (has_flag_) reporting.prints.clear(std::memory_order_release);
  }

 private:
  bool has_flag_ = false;
};

/// Standard error, until it accepts nothing for about a second: the process must be able to end.
class report_output {
 public:
  void print(const signal_line& line) noexcept {
    is_open_ = is_open_ && accepts_line();
    if (is_open_) line.print();
  }

 private:
  static bool accepts_line() noexcept {
    pollfd target{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    for (int attempt = 0; attempt < 10; ++attempt) {
      // A write to a pipe without a reader would send SIGPIPE.
      if (::poll(&target, 1, 100) == 1) return (target.revents & (POLLERR | POLLNVAL)) == 0;
    }
    return false;
  }

  bool is_open_ = true;
};

std::string_view shown(std::string_view name) noexcept { return name.substr(0, name_bytes_max); }

/// The columns of the table at the end of the job that are counted for each handler.
void print_table(report_output& to, rank_t rank, std::span<const core::counter_table::type> types,
                 std::string_view title) noexcept {
  std::size_t width = title.size();
  for (const auto& each : types) width = std::max(width, shown(each.name()).size());
  const auto begin = [&](signal_line& line, std::string_view name) {
    (line << "amity: rank ").number(static_cast<std::uint64_t>(rank), 10) << ": ";
    line.left(name, width);
  };
  signal_line header;
  begin(header, title);
  header.right("sent", 15).right("handled", 15).right("packets", 13).right("bytes", 17) << "\n";
  to.print(header);
  for (const auto& each : types) {
    const core::handler_counts counts = each.counts();
    if (counts.all.sent + counts.all.handled == 0) continue;
    signal_line row;
    begin(row, shown(each.name()));
    row.right(counts.all.sent, 15).right(counts.all.handled, 15);
    row.right(counts.packets.count, 13).right(counts.packets.bytes, 17) << "\n";
    to.print(row);
  }
}

void end_process(int signal) noexcept {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);
  sigset_t raised;
  ::sigemptyset(&raised);
  ::sigaddset(&raised, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &raised, nullptr);
}

bool is_handled_by(const struct sigaction& action, void (*handler)(int)) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

void install_handlers(void (*handler)(int)) noexcept {
  for (const int signal : {SIGUSR1, SIGTERM}) {
    struct sigaction now;
    ::sigaction(signal, nullptr, &now);
    if (!is_handled_by(now, SIG_DFL)) continue;
    struct sigaction ours = {};
    ours.sa_handler = handler;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    for (const int blocked : {SIGUSR1, SIGTERM}) ::sigaddset(&ours.sa_mask, blocked);
    ::sigaction(signal, &ours, nullptr);
  }
}

void uninstall_handlers(void (*handler)(int)) noexcept {
  for (const int signal : {SIGUSR1, SIGTERM}) {
    struct sigaction now;
    ::sigaction(signal, nullptr, &now);
    if (!is_handled_by(now, handler)) continue;
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(signal, &standard, nullptr);
  }
}

}  // namespace

counters_on_signal::counters_on_signal(const settings& config, rank_t first, rank_t count) : first_(first) {
  if (config.integer("AMITY_MESSAGE_COUNTERS") == 0) return;
  for (rank_t i = 0; i < count; ++i) tables_.emplace_back(first + i);
  const std::lock_guard lock(reporting.mutex);
  const bool is_forked = reporting.process.exchange(::getpid()) != ::getpid();
  const job_list* const before = is_forked ? nullptr : reporting.jobs.get();
  auto jobs = std::make_unique<job_list>(before != nullptr ? *before : job_list());
  jobs->push_back(this);
  reporting.jobs.replace(std::move(jobs));
  if (before == nullptr) install_handlers(&on_signal);
}

counters_on_signal::~counters_on_signal() {
  if (tables_.empty()) return;
  const std::lock_guard lock(reporting.mutex);
  const job_list* const before = reporting.jobs.get();
  if (before == nullptr) return;  // those of a job that was begun after a fork have ended
  auto jobs = std::make_unique<job_list>(*before);
  std::erase(*jobs, this);
  if (jobs->empty()) {
    uninstall_handlers(&on_signal);
    jobs.reset();
  }
  reporting.jobs.replace(std::move(jobs));
}

core::counter_table* counters_on_signal::table_of(rank_t rank) noexcept {
  return tables_.empty() ? nullptr : &tables_[static_cast<std::size_t>(rank - first_)];
}

void counters_on_signal::on_signal(int signal) noexcept {
  const int interrupted_errno = errno;
  // The program may have restored this handler after the job.
  bool has_job = false;
  if (reporting.process == ::getpid()) {
    reporting.jobs.read([&](const job_list& jobs) {
      has_job = true;
      const print_turn own;
      for (const counters_on_signal* const job : jobs) job->print(signal);
    });
  }
  if (signal == SIGTERM || !has_job) end_process(signal);
  errno = interrupted_errno;
}

void counters_on_signal::print(int signal) const noexcept {
  const std::string_view title = signal == SIGTERM ? "messages by type at SIGTERM" : "messages by type at SIGUSR1";
  report_output to;
  std::size_t ranks = 0;
  for (const core::counter_table& table : tables_) {
    if (ranks++ == ranks_shown_max) break;
    table.read([&](std::span<const core::counter_table::type> types) { print_table(to, table.rank(), types, title); });
  }
  if (tables_.size() <= ranks_shown_max) return;
  signal_line rest;
  (rest << "amity: counters of ").number(ranks_shown_max, 10) << " of ";
  rest.number(tables_.size(), 10) << " ranks are shown\n";
  to.print(rest);
}

}  // namespace amity::detail
