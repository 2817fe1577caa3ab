#include "harness.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/watchdog.hpp"

namespace amity::fabric::testing {
namespace {

// This file is linked into all test programs whose tests run jobs.
[[maybe_unused]] const bool watched = amity::testing::watchdog::install();

[[noreturn]] void run_child(pid_t parent, rank_t rank, const std::function<void(rank_t)>& body) {
  // A test that is killed takes its ranks along; it may have died before the kernel knew.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(3);
  int status = 0;
  try {
    body(rank);
    if (::testing::Test::HasFailure()) status = 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d threw: %s\n", rank, e.what());
    status = 2;
  }
  std::fflush(nullptr);
  // What the test program registered to run at its end is not for its copies.
  ::_exit(status);
}

}  // namespace

void run_forked(rank_t ranks, const std::function<void(rank_t)>& body) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  std::vector<pid_t> children;
  for (rank_t rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) run_child(parent, rank, body);
    if (child < 0) {
      ADD_FAILURE() << "fork failed for rank " << rank;
      for (const pid_t started : children) ::kill(started, SIGKILL);
      break;
    }
    children.push_back(child);
  }
  // The first that fails ends the others, which may be waiting for it. They are then no failures of their own.
  bool failed = false;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    ASSERT_GT(ended, 0);
    if (status == 0 || failed) continue;
    failed = true;
    const auto rank = std::find(children.begin(), children.end(), ended) - children.begin();
    if (WIFSIGNALED(status)) {
      ADD_FAILURE() << "rank " << rank << " was killed by signal " << WTERMSIG(status);
    } else {
      ADD_FAILURE() << "rank " << rank << " exited with status " << WEXITSTATUS(status);
    }
    for (const pid_t other : children) {
      if (other != ended) ::kill(other, SIGKILL);
    }
  }
}

}  // namespace amity::fabric::testing
