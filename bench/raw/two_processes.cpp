#include "bench/raw/two_processes.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "bench/workload.hpp"

namespace amity::bench {
namespace {

[[noreturn]] void be_the_child(const std::function<void(int)>& side) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int exit_status = 0;
  try {
    pin_to_core(1);
    side(1);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    exit_status = 1;
  }
  _exit(exit_status);
}

}  // namespace

void two_processes(const std::function<void(int)>& side) {
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) be_the_child(side);
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  pin_to_core(0);
  side(0);
  sched_setaffinity(0, sizeof before, &before);
  int exit_status = 0;
  while (waitpid(child, &exit_status, 0) < 0 && errno == EINTR) {
  }
  if (exit_status != 0) throw std::runtime_error("the second process of a raw limit failed");
}

}  // namespace amity::bench
