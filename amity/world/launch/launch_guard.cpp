#include "amity/world/launch/launch_guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "amity/base/error.hpp"

namespace amity::detail {
namespace {

/// The guard's whole life; only calls that are safe after a fork. The pipe is its standard input.
[[noreturn]] void keep_watch(int pipe_end, std::span<const pid_t> groups) noexcept {
  // Nothing but the launcher ends it, and it keeps nothing open for which others may wait.
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  ::prctl(PR_SET_NAME, "amity guard");
  ::dup2(pipe_end, STDIN_FILENO);
  ::syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0);
  char released = 0;
  ssize_t count;
  do count = ::read(STDIN_FILENO, &released, 1);
  while (count < 0 && errno == EINTR);
  if (count == 0) {
    for (const pid_t group : groups) ::kill(-group, SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

launch_guard::launch_guard(std::span<const pid_t> groups) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    const file_descriptor reading_end(ends[0]);
    life_ = file_descriptor(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      life_.reset();
      keep_watch(reading_end.get(), groups);
    }
    if (pid_ > 0) return;
  }
  throw error("launch", no_rank, std::strerror(errno),
              "raise the limits of processes and open files (ulimit -u, ulimit -n)");
}

launch_guard::~launch_guard() {
  [[maybe_unused]] const auto written = ::write(life_.get(), "", 1);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace amity::detail
