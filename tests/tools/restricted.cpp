// Starts a program in a restricted environment, as in a container: restricted WHAT ERROR -- PROGRAM ARGUMENTS...
// WHAT is "proc", for a process that sees no /proc, or the names of system calls that fail with ERROR. Ends with 77 if
// this system cannot do that.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/forbidden_calls.hpp"

namespace {

constexpr int impossible = 77;

const std::map<std::string, long> calls{{"pidfd_open", SYS_pidfd_open},
                                        {"memfd_create", SYS_memfd_create},
                                        {"membarrier", SYS_membarrier},
                                        {"close_range", SYS_close_range},
                                        {"sched_setaffinity", SYS_sched_setaffinity},
                                        {"sched_getaffinity", SYS_sched_getaffinity},
                                        {"signalfd", SYS_signalfd4},
                                        {"epoll", SYS_epoll_create1},
                                        {"prctl", SYS_prctl},
                                        {"getrandom", SYS_getrandom}};

bool hide_proc() {
  const uid_t user = ::geteuid();
  if (user != 0) {
    if (::unshare(CLONE_NEWUSER) != 0) return false;
    const std::string map = std::to_string(user) + " " + std::to_string(user) + " 1";
    const int file = ::open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (file < 0 || ::write(file, map.data(), map.size()) < 0) return false;
    ::close(file);
  }
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("nothing", "/proc", "tmpfs", MS_RDONLY, nullptr) == 0;
}

bool restrict_to(const std::string& what, const std::string& reason) {
  if (what == "proc") return hide_proc();
  std::vector<long> numbers;
  std::istringstream names(what);
  for (std::string name; std::getline(names, name, ',');) numbers.push_back(calls.at(name));
  return amity::testing::forbid(numbers, reason == "EPERM" ? EPERM : ENOSYS);
}

}  // namespace

int main(int, char** argv) {
  if (!restrict_to(argv[1], argv[2])) return impossible;
  ::execvp(argv[4], argv + 4);
  return 127;
}
