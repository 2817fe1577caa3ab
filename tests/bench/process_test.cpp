#include "bench/process.hpp"

#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "bench/workload.hpp"

namespace amity::bench {
namespace {

constexpr double enough_seconds = 30;

/// What the error says that the command causes; empty if it causes none.
std::string failure_of(const command& what, double seconds_max = enough_seconds) {
  try {
    run_command(what, seconds_max);
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }
  return "";
}

TEST(Process, GivesBackTheWholeOutput) {
  const auto output = run_command({{"seq", "1", "20000"}, {}}, enough_seconds);
  EXPECT_EQ(output.substr(0, 4), "1\n2\n");
  EXPECT_EQ(output.substr(output.size() - 6), "20000\n");
}

TEST(Process, AddsToTheEnvironment) {
  EXPECT_EQ(run_command({{"sh", "-c", "echo $AMITY_BENCH_COLOR"}, {"AMITY_BENCH_COLOR=blue"}}, enough_seconds),
            "blue\n");
}

TEST(Process, GivesBackErrors) {
  std::string errors;
  EXPECT_EQ(run_command({{"sh", "-c", "seq 1 2000 >&2; echo done"}, {}}, enough_seconds, &errors), "done\n");
  EXPECT_EQ(errors.substr(0, 4), "1\n2\n");
  EXPECT_EQ(errors.substr(errors.size() - 5), "2000\n");
  EXPECT_THROW(run_command({{"sh", "-c", "echo reason >&2; exit 3"}, {}}, enough_seconds, &errors), std::runtime_error);
  EXPECT_EQ(errors, "reason\n");
}

TEST(Process, NamesTheCommandThatFailed) {
  EXPECT_EQ(failure_of({{"sh", "-c", "exit 3"}, {}}), "'sh -c exit 3' returned 3");
  EXPECT_EQ(failure_of({{"no_such_program_anywhere"}, {}}), "'no_such_program_anywhere' returned 127");
  EXPECT_EQ(failure_of({{"sh", "-c", "kill -9 $$"}, {}}), "'sh -c kill -9 $$' was ended by signal 9");
}

TEST(Process, ATimeOutEndsTheWholeProcessGroup) {
  // Whatever the command starts holds the writing end: it closes when the last of them is gone.
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  const auto failure = failure_of({{"sh", "-c", "sleep 600 & sleep 600"}, {}}, 0.2);
  EXPECT_NE(failure.find("took more than"), std::string::npos) << failure;
  const auto failure_of_child = failure_of({{"sh", "-c", "sleep 600 & exit 0"}, {}}, 0.2);
  EXPECT_NE(failure_of_child.find("took more than"), std::string::npos) << failure_of_child;
  close(ends[1]);
  char unused;
  EXPECT_EQ(read(ends[0], &unused, 1), 0);
  close(ends[0]);
}

TEST(Process, ASampleCountsIfTheCommandMayHangAtItsEnd) {
  const auto hangs = [](const std::string& program) { return command{{"sh", "-c", program}, {}, 0.2}; };
  EXPECT_EQ(run_command(hangs("echo '{1}'; sleep 600"), enough_seconds), "{1}\n");
  EXPECT_EQ(run_command(hangs("echo warning; sleep 1; echo '{1}'; sleep 600"), enough_seconds), "warning\n{1}\n");
  // The command has ended, and this process has not yet waited for it, when its child prints the sample.
  const auto failure =
      failure_of(hangs("(until grep -q State:.Z /proc/$$/status; do :; done; echo '{1}'; exec sleep 600) & exit 3"));
  EXPECT_TRUE(failure.ends_with("' returned 3")) << failure;
  for (const char* const other : {"printf '{unfinished'; sleep 600", "echo line; sleep 600"})
    EXPECT_NE(failure_of(hangs(other), 1).find("took more than"), std::string::npos) << other;
}

TEST(Workload, AWrongAnswerIsAnError) {
  EXPECT_NO_THROW(expect_equal("sum", 7, 7));
  EXPECT_THROW(expect_equal("sum", 7, 8), std::runtime_error);
}

TEST(Workload, TablesBeginAsZero) {
  huge_words table(1000);
  EXPECT_EQ(table.sum(), 0u);
  table[999] = 5;
  EXPECT_EQ(table.sum(), 5u);
}

}  // namespace
}  // namespace amity::bench
