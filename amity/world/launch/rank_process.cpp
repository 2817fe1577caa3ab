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

[[noreturn]] void cannot_start(std::string_view what) {
  throw error("launch", no_rank, fmt::format("cannot start a rank: {}: {}", what, std::strerror(errno)),
              "use fewer ranks, or raise the limits of processes and open files (ulimit -u, ulimit -n)");
}

/// Gives the descriptor a standard number; the copy is inherited even if the original is not.
bool becomes(int fd, int number) noexcept {
  return fd == number ? ::fcntl(fd, F_SETFD, 0) == 0 : ::dup2(fd, number) == number;
}

/// What the child does between fork and exec: only calls that are safe there. Returns only if something failed.
void become(const rank_start& how, pid_t launcher) noexcept {
  ::setpgid(0, 0);
  // Not left to the parent: it may die before it can, when this process has already started others.
  launch_guard::announce(how.guard_fd, ::getpid());
  // The parent may have died before the request that its death be noticed.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher) return;
  if (!becomes(how.input_fd, STDIN_FILENO) || !becomes(how.output_fd, STDOUT_FILENO)) return;
  if (!becomes(how.error_fd, STDERR_FILENO) || ::fcntl(how.inherited_fd, F_SETFD, 0) != 0) return;
  if (how.cpus != nullptr && ::sched_setaffinity(0, sizeof *how.cpus, how.cpus) != 0) return;
  // Its group is not the terminal's foreground: without this, a rank that changes the terminal would stop, for ever.
  ::signal(SIGTTOU, SIG_IGN);
  if (::sigprocmask(SIG_SETMASK, how.signal_mask, nullptr) != 0) return;
  ::execvpe(how.program, how.arguments, how.environment);
}

/// What the child reports through a pipe that exec closes: 0, or why it could not execute the program.
int read_reason(int fd) noexcept {
  int reason = 0;
  ssize_t count;
  do count = ::read(fd, &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

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
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot_start("pipe");
  const file_descriptor reasons(ends[0]);
  file_descriptor to_launcher(ends[1]);

  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) cannot_start("fork");
  if (pid == 0) {
    become(how, launcher);
    const int failed = errno;
    [[maybe_unused]] const auto written = ::write(to_launcher.get(), &failed, sizeof failed);
    ::_exit(127);
  }
  to_launcher.reset();
  ::setpgid(pid, pid);  // whoever comes first: the group exists before anyone signals it
  rank_process started(pid, file_descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
  if (!started.fd_) cannot_start("pidfd_open");
  reason = read_reason(reasons.get());
  if (reason != 0) return std::nullopt;
  return started;
}

bool rank_process::has_ended() {
  if (end_) return true;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return false;
  }
  end_ = process_end{.by_signal = info.si_code != CLD_EXITED, .number = info.si_status};
  fd_.reset();
  return true;
}

void rank_process::signal_group(int signal) const noexcept { ::kill(-pid_, signal); }

}  // namespace amity::detail
