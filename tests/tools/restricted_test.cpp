// Jobs where the system forbids calls, or where there is no /proc.

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

namespace amity::tests {
namespace {

constexpr int impossible = 77;

struct restriction {
  std::string name;
  std::string what;
  std::string reason;
};

void PrintTo(const restriction& given, std::ostream* out) { *out << given.name; }

/// Runs a command under `restricted`.
std::vector<std::string> under(const restriction& given, std::vector<std::string> command) {
  command.insert(command.begin(), {RESTRICTED_PROGRAM, given.what, given.reason, "--"});
  return command;
}

bool is_possible(const restriction& given) {
  if (testing::sanitized && given.what == "proc") return false;  // sanitizers read it themselves
  return child(under(given, {"true"})).finish().status != impossible;
}

class restricted : public ::testing::TestWithParam<restriction> {
 protected:
  void SetUp() override { AMITY_SKIP_UNLESS(is_possible(GetParam()), "not possible on this system"); }
  static outcome run(std::vector<std::string> command, std::vector<std::string> environment = {}) {
    return child(under(GetParam(), std::move(command)), {.environment = std::move(environment)}).finish();
  }
};

constexpr auto all_calls = "pidfd_open,memfd_create,membarrier,close_range,getrandom,sched_getaffinity";

INSTANTIATE_TEST_SUITE_P(everywhere, restricted,
                         ::testing::Values(restriction{"no_pidfd", "pidfd_open", "EPERM"},
                                           restriction{"no_memfd", "memfd_create", "EPERM"},
                                           restriction{"forbidden", all_calls, "EPERM"},
                                           restriction{"missing", all_calls, "ENOSYS"},
                                           restriction{"no_proc", "proc", "-"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(restricted, launched_job_works) {
  const auto ended = run(amity_command({"run", "-n", "3", "--prefix", WORLD_PROGRAM, "sum"}));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "[2] rank 2 of 3: sum 3\n");
  EXPECT_EQ(ended.errors, "");
}

TEST_P(restricted, program_starts_its_ranks) {
  for (const std::string fabric : {"shm", "threads", "sim"}) {
    const auto ended = run({WORLD_PROGRAM, "sum"}, {"AMITY_RANKS=3", "AMITY_FABRIC=" + fabric});
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_PRED2(contains, ended.output, "rank 2 of 3: sum 3");
  }
}

TEST_P(restricted, failed_rank_ends_job) {
  expect_failure(run(amity_command({"run", "-n", "3", WORLD_PROGRAM, "kill"})), "was killed by signal 9", 128 + 9);
}

TEST_P(restricted, interrupt_ends_job) {
  child job(under(GetParam(), amity_command({"run", "-n", "3", WORLD_PROGRAM, "wait"})));
  const watches all(job.wait_for_lines(3));
  job.signal(15);
  EXPECT_EQ(job.finish().status, 128 + 15);
  EXPECT_TRUE(all.all_end());
}

TEST_P(restricted, ranks_of_other_launchers_share_memory) {
  const std::string hydra = AMITY_HYDRA_LAUNCHER;
  AMITY_SKIP_UNLESS(!hydra.empty(), "there is no mpiexec.hydra");
  std::vector<std::string> command{hydra, "-n", "3"};
  for (const std::string& word : under(GetParam(), {WORLD_PROGRAM, "sum"})) command.push_back(word);
  const auto ended = child(command, {.environment = {"AMITY_FABRIC_SHOWN=1"}}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "rank 2 of 3: sum 3");
  EXPECT_PRED2(contains, ended.errors, "fabric: shm");
}

TEST_P(restricted, commands_do_not_throw) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"info"},
                                                    {"sim", "-n", "3", "--explore", "3", WORLD_PROGRAM, "sum"},
                                                    {"sim", "-n", "3", "--network", "aries", WORLD_PROGRAM, "sum"}}) {
    const auto ended = run(amity_command(arguments));
    EXPECT_GE(ended.status, 0) << "ended by a signal: " << ended.errors;
    if (ended.status != 0) {
      EXPECT_PRED2(contains, ended.errors, "mount /proc");
    }
  }
}

TEST(restricted_launcher, one_restricted_rank_works) {
  for (const std::string what : {"membarrier", "pidfd_open,memfd_create,membarrier", "proc"}) {
    const restriction given{"", what, "EPERM"};
    AMITY_SKIP_UNLESS(is_possible(given), "not possible on this system");
    const std::string script =
        "[ $AMITY_RANK = 1 ] && exec " RESTRICTED_PROGRAM " " + what + " EPERM -- \"$@\"; exec \"$@\"";
    const auto ended =
        child(amity_command({"run", "-n", "3", "sh", "-c", script, "sh", WORLD_PROGRAM, "sum"})).finish();
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_PRED2(contains, ended.output, "rank 2 of 3: sum 3");
  }
}

/// What the launcher cannot do without.
TEST(restricted_launcher, missing_call_is_named) {
  for (const auto& [what, name] : {std::pair("signalfd", "signalfd"), std::pair("epoll", "epoll_create1")}) {
    const restriction given{"", what, "EPERM"};
    AMITY_SKIP_UNLESS(is_possible(given), "this system has no seccomp");
    const auto ended = child(under(given, amity_command({"run", "-n", "2", "true"}))).finish();
    expect_failure(ended, std::string(name) + ": Operation not permitted");
    EXPECT_PRED2(contains, ended.errors, "seccomp");
  }
}

TEST(restricted_launcher, pin_without_permission_is_error) {
  const restriction given{"", "sched_setaffinity", "EPERM"};
  AMITY_SKIP_UNLESS(is_possible(given), "this system has no seccomp");
  expect_failure(child(under(given, amity_command({"run", "-n", "2", "--pin", "true"}))).finish(),
                 "cannot start a rank: sched_setaffinity: Operation not permitted; do not use --pin");
}

}  // namespace
}  // namespace amity::tests
