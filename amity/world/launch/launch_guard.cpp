#include "amity/world/launch/launch_guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "amity/base/error.hpp"

namespace amity::detail {
namespace {

constexpr pid_t released = 0;

/// Where close_range is missing or forbidden, each number is tried.
void close_others(int descriptors_max) noexcept {
  if (::syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0) == 0) return;
  for (int fd = STDIN_FILENO + 1; fd < descriptors_max; ++fd) ::close(fd);
}

/// A bound of the numbers of open descriptors.
int find_descriptors_max() noexcept {
  constexpr rlim_t tried_max = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return tried_max;
  return static_cast<int>(std::min(limit.rlim_cur, tried_max));
}

/// The guard's whole life; only calls that are safe after a fork. The pipe becomes its standard input.
[[noreturn]] void keep_watch(int pipe_end, std::span<pid_t> groups, int descriptors_max) noexcept {
  // Nothing but the launcher ends it, and it keeps nothing open for which others may wait.
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  ::prctl(PR_SET_NAME, "amity guard");
  ::dup2(pipe_end, STDIN_FILENO);
  close_others(descriptors_max);
  std::size_t known = 0;
  for (;;) {
    pid_t group = released;
    const ssize_t count = ::read(STDIN_FILENO, &group, sizeof group);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof group) break;
    if (group == released) ::_exit(0);
    if (known < groups.size()) groups[known++] = group;
  }
  for (const pid_t group : groups.first(known)) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

launch_guard::launch_guard(std::size_t groups_max) {
  std::vector<pid_t> groups(groups_max);  // the guard fills its copy
  const int descriptors_max = find_descriptors_max();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    const file_descriptor reading_end(ends[0]);
    life_ = file_descriptor(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      life_.reset();
      keep_watch(reading_end.get(), groups, descriptors_max);
    }
    if (pid_ > 0) return;
  }
  throw error("launch", no_rank, std::strerror(errno),
              "raise the limits of processes and open files (ulimit -u, ulimit -n)");
}

launch_guard::~launch_guard() {
  announce(fd(), released);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void launch_guard::announce(int fd, pid_t group) noexcept {
  [[maybe_unused]] const auto written = ::write(fd, &group, sizeof group);
}

}  // namespace amity::detail
