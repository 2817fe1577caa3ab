#include "amity/world/launch/rank_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/world/launch/launch_guard.hpp"

namespace amity::detail {
namespace {

constexpr auto raise_limits = "use fewer ranks, or raise the limits of processes and open files (ulimit -u, ulimit -n)";

[[noreturn]] void cannot_start(std::string_view what, int reason, std::string_view remedy = raise_limits) {
  throw error("launch", no_rank, fmt::format("cannot start a rank: {}: {}", what, std::strerror(reason)), remedy);
}

/// The steps of a child that can fail, in their order.
enum class step : int { set_death_signal, set_descriptors, set_cpus, set_signal_mask, execute };

/// Why a child has not executed its program. The child writes it into a pipe that exec closes.
struct failure {
  step at;
  int reason;
};

[[noreturn]] void cannot_prepare(const failure& found) {
  constexpr auto allow = "allow this system call in the container's seccomp profile";
  switch (found.at) {
    case step::set_death_signal:
      cannot_start("prctl(PR_SET_PDEATHSIG)", found.reason, allow);
    case step::set_cpus:
      cannot_start("sched_setaffinity", found.reason, "do not use --pin, or allow this system call");
    case step::set_signal_mask:
      cannot_start("sigprocmask", found.reason, allow);
    default:
      cannot_start("dup2", found.reason);
  }
}

/// Gives the descriptor a standard number; the copy is inherited even if the original is not.
bool becomes(int fd, int number) noexcept {
  return fd == number ? ::fcntl(fd, F_SETFD, 0) == 0 : ::dup2(fd, number) == number;
}

/// What the child does between fork and exec: only calls that are safe there. Returns the step that failed.
step become(const rank_start& how, pid_t launcher) noexcept {
  ::setpgid(0, 0);
  // Not left to the parent: it may die before it can, when this process has already started others.
  launch_guard::announce(how.guard_fd, ::getpid());
  // The parent may have died before the request that its death be noticed.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher) return step::set_death_signal;
  if (!becomes(how.input_fd, STDIN_FILENO) || !becomes(how.output_fd, STDOUT_FILENO) ||
      !becomes(how.error_fd, STDERR_FILENO) || ::fcntl(how.inherited_fd, F_SETFD, 0) != 0) {
    return step::set_descriptors;
  }
  if (how.cpus != nullptr && ::sched_setaffinity(0, sizeof *how.cpus, how.cpus) != 0) return step::set_cpus;
  // Its group is not the terminal's foreground: without this, a rank that changes the terminal would stop, for ever.
  ::signal(SIGTTOU, SIG_IGN);
  if (::sigprocmask(SIG_SETMASK, how.signal_mask, nullptr) != 0) return step::set_signal_mask;
  ::execvpe(how.program, how.arguments, how.environment);
  return step::execute;
}

/// What the child reports; nothing if it executes its program.
std::optional<failure> read_failure(int fd) noexcept {
  failure found{};
  ssize_t count;
  do count = ::read(fd, &found, sizeof found);
  while (count < 0 && errno == EINTR);
  if (count != sizeof found) return std::nullopt;
  return found;
}

int open_process(pid_t pid) noexcept { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

bool is_forbidden(int reason) noexcept { return reason == ENOSYS || reason == EPERM || reason == EACCES; }

}  // namespace

rank_process::rank_process(pid_t pid, file_descriptor fd) noexcept : pid_(pid), fd_(std::move(fd)) {}

rank_process::rank_process(rank_process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), fd_(std::move(other.fd_)), end_(other.end_) {}

rank_process::~rank_process() {
  if (pid_ == 0) return;
  if (!end_) signal_group(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<rank_process> rank_process::start(const rank_start& how, int& reason) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot_start("pipe2", errno);
  const file_descriptor failures(ends[0]);
  file_descriptor to_launcher(ends[1]);

  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) cannot_start("fork", errno);
  if (pid == 0) {
    const step reached = become(how, launcher);
    const failure found{reached, errno};
    [[maybe_unused]] const auto written = ::write(to_launcher.get(), &found, sizeof found);
    ::_exit(127);
  }
  to_launcher.reset();
  ::setpgid(pid, pid);  // both do it: the group exists before it is signaled
  rank_process started(pid, file_descriptor(open_process(pid)));
  if (!started.fd_ && !is_forbidden(errno)) cannot_start("pidfd_open", errno);
  const auto failed = read_failure(failures.get());
  if (!failed) return started;
  if (failed->at != step::execute) cannot_prepare(*failed);
  reason = failed->reason;
  return std::nullopt;
}

bool rank_process::has_descriptors() noexcept { return static_cast<bool>(file_descriptor(open_process(::getpid()))); }

bool rank_process::has_ended() {
  if (end_) return true;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return false;
  }
  end_ = process_end{.by_signal = info.si_code != CLD_EXITED, .number = info.si_status};
  return true;
}

void rank_process::signal(int number) const noexcept { ::kill(pid_, number); }

void rank_process::signal_group(int signal) const noexcept { ::kill(-pid_, signal); }

}  // namespace amity::detail
