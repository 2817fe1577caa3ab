// A rank that does one thing, for tests of the launcher: rank_program WHAT... ; rank i does the i-th thing, ranks
// beyond the last do what the last does. Says what it has done in a line on standard output, with its process.

#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "amity/base/settings.hpp"
#include "amity/fabric/shm/job_memory.hpp"

namespace {

using amity::rank_t;
using amity::fabric::shm::job_memory;
using amity::fabric::shm::rank_state;

void say(const char* what) {
  std::printf("%s %d\n", what, static_cast<int>(::getpid()));
  std::fflush(stdout);
}

[[noreturn]] void stay() {
  for (;;) ::pause();
}

template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) ::sched_yield();
}

void wait_for_end(pid_t process) {
  pollfd entry{static_cast<int>(::syscall(SYS_pidfd_open, process, 0)), POLLIN, 0};
  ::poll(&entry, 1, -1);
}

/// The signal by which a test tells a rank to go on. It is blocked until the rank waits for it.
sigset_t word() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  return set;
}
void wait_for_word() {
  const sigset_t awaited = word();
  for (int number = 0; number != SIGUSR1;) ::sigwait(&awaited, &number);
}

int act(const std::string& what, job_memory& job, rank_t rank) {
  if (what == "quit") return 0;
  if (what == "stay") {
    say("stays");
    stay();
  }
  if (what == "join-on-input") {
    say("waits");
    char byte;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return 4;
  }
  job.join(rank);
  auto* const processes = reinterpret_cast<std::atomic<pid_t>*>(job.region(4096));
  processes[rank] = ::getpid();
  say("joined");
  if (what == "join" || what == "join-on-input") stay();
  if (what == "desert") return 0;
  if (what == "succeed") {
    job.notes().succeeded = 1;
    return 0;
  }
  const auto wait_for_others = [&] {
    for (rank_t other = 0; other < job.ranks(); ++other) {
      wait_until([&] { return processes[other] != 0; });
    }
  };
  if (what == "fail") return 3;
  if (what == "fail-last") {
    wait_for_others();
    return 3;
  }
  if (what == "leave") {
    job.leave(rank);
    return 0;
  }
  if (what == "leave-and-stay") {
    job.leave(rank);
    stay();
  }
  if (what == "obey") {  // ends as a rank does that learns that another one has aborted the job
    wait_until([&] { return job.aborted(); });
    say("obeys");
    return 5;
  }
  if (what == "abort-last" || what == "abort-when-told") {  // aborts the job, and is the last to end
    if (what == "abort-when-told") {
      say("waits to abort");
      wait_for_word();
    }
    wait_for_others();
    job.abort(rank);
    for (rank_t other = 0; other < job.ranks(); ++other) {
      if (other != rank) wait_for_end(processes[other]);
    }
    return 6;
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const sigset_t blocked = word();
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const auto values = amity::settings::from_environment();
  const auto rank = static_cast<rank_t>(values.integer("AMITY_RANK"));
  auto job = job_memory::attach(static_cast<int>(values.integer("AMITY_JOB_FD")),
                                static_cast<rank_t>(values.integer("AMITY_RANKS")));
  return act(argv[std::min(rank + 1, argc - 1)], job, rank);
}
