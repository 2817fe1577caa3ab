// Programs that exit before they return from amity::run.

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"

namespace amity::tests {
namespace {

struct exit_job {
  std::string fabric;
  int ranks;
};

void PrintTo(const exit_job& what, std::ostream* out) { *out << what.ranks << " ranks on " << what.fabric; }

class early_exit : public ::testing::TestWithParam<exit_job> {
 protected:
  static outcome run(const std::vector<std::string>& what) {
    std::vector<std::string> command{WORLD_PROGRAM};
    command.insert(command.end(), what.begin(), what.end());
    return child(command, {.environment = {"AMITY_FABRIC=" + GetParam().fabric, "AMITY_OFI_ADDRESS=127.0.0.1",
                                           "AMITY_RANKS=" + std::to_string(GetParam().ranks)}})
        .finish();
  }
  /// Begins the report of the last rank.
  static std::string reported(const std::string& call) {
    return "amity: " + call + " (rank " + std::to_string(GetParam().ranks - 1) + "): " + call + "(";
  }
};

std::vector<exit_job> exit_jobs() {
  std::vector<exit_job> all{{"shm", 1}, {"shm", 3}, {"threads", 1}, {"threads", 3}, {"sim", 1}, {"sim", 3}};
#ifdef AMITY_TESTS_HAVE_OFI
  all.push_back({"ofi", 2});
  all.push_back({"composite", 2});
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(everywhere, early_exit, ::testing::ValuesIn(exit_jobs()),
                         [](const auto& each) { return each.param.fabric + "_" + std::to_string(each.param.ranks); });

TEST_P(early_exit, exit_with_0_fails_job) {
  expect_failure(run({"exit"}), reported("exit") +
                                    "0) was called before the program has returned; return the exit status from the "
                                    "program\n");
  expect_failure(run({"exit in a handler"}), reported("exit"));
  expect_failure(run({"quick_exit"}), reported("quick_exit"));
  expect_failure(run({"exit in a thread"}), "exit(0) was called before the program has returned");
  EXPECT_EQ(run({"all exit"}).status, 1);
}

TEST_P(early_exit, other_status_is_kept) {
  EXPECT_EQ(run({"exit", "7"}).status, 7);
  EXPECT_EQ(run({"exit", "256"}).status, 1) << "of which the system keeps 0";
}

TEST_P(early_exit, output_is_written) {
  const auto ended = run({"exit with output"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_PRED2(contains, ended.output, "unflushed");
}

TEST_P(early_exit, forked_process_may_exit) {
  const auto ended = run({"exit of a child"});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "child 5");
  EXPECT_EQ(ended.errors, "");
}

TEST_P(early_exit, exit_after_program_succeeds) {
  const auto ended = run({"exit after the program"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
}

TEST_P(early_exit, launcher_notices_underscore_exit) {
  if (GetParam().fabric == "threads" || GetParam().fabric == "sim") GTEST_SKIP() << "these have no launcher";
  if (GetParam().ranks == 1) GTEST_SKIP() << "a single rank has no launcher";
  expect_failure(run({"_exit"}), "exited with status 0 inside amity::run, without leaving it");
}

}  // namespace
}  // namespace amity::tests
