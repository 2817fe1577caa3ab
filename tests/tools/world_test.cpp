// Programs of amity::run, with and without `amity run`.

#include <signal.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "child.hpp"
#include "tests/support/cases.hpp"

namespace amity::tests {
namespace {

enum class start { by_command, by_itself };

struct how {
  start with;
  int ranks;
};

std::string name_of(const ::testing::TestParamInfo<how>& info) {
  return (info.param.with == start::by_command ? "amity_run_" : "self_launch_") + std::to_string(info.param.ranks);
}

class program : public ::testing::TestWithParam<how> {
 protected:
  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), WORLD_PROGRAM);
    if (GetParam().with == start::by_itself) return arguments;
    auto launched = amity_command({"run", "-n", std::to_string(ranks())});
    launched.insert(launched.end(), arguments.begin(), arguments.end());
    return launched;
  }

  child_options options(std::vector<std::string> environment = {}) const {
    if (GetParam().with == start::by_itself) environment.push_back("AMITY_RANKS=" + std::to_string(ranks()));
    return {.environment = std::move(environment)};
  }

  bool has_launcher() const { return ranks() > 1 || GetParam().with == start::by_command; }
  int ranks() const { return GetParam().ranks; }
};

/// With `alone`, also a single rank without a launcher. The two ways divide the other numbers of ranks between them; in
/// whole matrices each has all.
std::vector<how> ways(bool alone) {
  std::vector<how> result;
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const bool both = testing::whole_matrices() || ranks == 1;
    const bool by_command = both || ranks == 2 || ranks == 8;
    const bool by_itself = (both || !by_command) && (ranks > 1 || alone);
    if (by_command) result.push_back({start::by_command, ranks});
    if (by_itself) result.push_back({start::by_itself, ranks});
  }
  return result;
}

class launched_program : public program {};

INSTANTIATE_TEST_SUITE_P(all, program, ::testing::ValuesIn(ways(true)), name_of);
INSTANTIATE_TEST_SUITE_P(all, launched_program, ::testing::ValuesIn(ways(false)), name_of);

TEST_P(program, is_one_job) {
  const auto ended = child(command({"sum"}), options()).finish();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
  std::set<std::string> lines, expected;
  std::istringstream text(ended.output);
  for (std::string line; std::getline(text, line);) lines.insert(line);
  const auto size = std::to_string(ranks());
  const auto sum = std::to_string(ranks() * (ranks() - 1) / 2);
  for (int rank = 0; rank < ranks(); ++rank) {
    expected.insert("rank " + std::to_string(rank) + " of " + size + ": sum " + sum);
  }
  EXPECT_EQ(lines, expected);
}

TEST_P(program, gets_its_arguments_unchanged) {
  EXPECT_EQ(child(command({"arguments", "-n", "a b", "", "--help"}), options()).finish().output, "-n\na b\n\n--help\n");
}

TEST_P(program, returns_the_status_of_the_rank_that_failed) {
  const auto ended = child(command({"status"}), options()).finish();
  EXPECT_EQ(ended.status, 9);
  EXPECT_EQ(contains(ended.errors, "amity: rank " + std::to_string(ranks() - 1) + " (pid "), has_launcher())
      << ended.errors;
}

TEST_P(program, reports_an_error_once) {
  const auto ended = child(command({"throw"}), options()).finish();
  EXPECT_EQ(ended.status, 1);
  const auto message = "amity: test (rank " + std::to_string(ranks() - 1) + "): it went wrong; do not\n";
  EXPECT_PRED2(contains, ended.errors, message);
  EXPECT_EQ(ended.errors.find("it went wrong"), ended.errors.rfind("it went wrong")) << ended.errors;
  EXPECT_EQ(contains(ended.errors, "amity: rank " + std::to_string(ranks() - 1) + " (pid "), has_launcher())
      << ended.errors;
}

// The progress thread of the rank serves the window until it ends.
TEST_P(program, reports_error_of_rank_whose_window_others_use) {
  for (int run = 0; run < 5; ++run) {
    const auto ended =
        child(command({"throw with a window"}), options({"AMITY_PROGRESS_THREAD=1", "AMITY_WINDOW_PROTOCOL=buffered"}))
            .finish();
    EXPECT_EQ(ended.status, 1);
    EXPECT_PRED2(contains, ended.errors,
                 "amity: test (rank " + std::to_string(ranks() - 1) + "): it went wrong; do not\n");
    EXPECT_FALSE(contains(ended.errors, "invalid packet")) << ended.errors;
  }
}

TEST_P(program, warns_about_a_misspelt_variable_once) {
  const auto ended = child(command({"sum"}), options({"AMITY_SHM_BUFERS=8"})).finish();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "amity: AMITY_SHM_BUFERS is not a setting; did you mean AMITY_SHM_BUFFERS?\n");
}

TEST_P(program, refuses_an_unusable_setting_once) {
  const auto ended = child(command({"sum"}), options({"AMITY_SHM_BUFFERS=many"})).finish();
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.output, "");
  EXPECT_EQ(ended.errors.find("AMITY_SHM_BUFFERS=many"), ended.errors.rfind("AMITY_SHM_BUFFERS=many")) << ended.errors;
  EXPECT_PRED2(contains, ended.errors, "AMITY_SHM_BUFFERS=many is not a whole number");
}

TEST_P(launched_program, ends_when_a_rank_is_killed) {
  child job(command({"wait"}), options());
  const auto lines = job.wait_for_lines(static_cast<std::size_t>(ranks()));
  const watches all(lines);
  const pid_t victim = processes_in(lines).back();
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  const auto ended = job.finish();
  expect_failure(ended, "(pid " + std::to_string(victim) + ") was killed by signal 9 (Killed)", 128 + SIGKILL);
  EXPECT_EQ(contains(ended.errors, "; ending the other ranks\n"), ranks() > 1) << ended.errors;
  EXPECT_TRUE(all.all_end());
}

TEST_P(launched_program, killed_holder_of_window_lock_ends_job) {
  child job(command({"wait for lock"}), options());
  auto lines = job.wait_for_lines(static_cast<std::size_t>(ranks()));
  std::ranges::sort(lines);  // by rank; the last one has the lock
  const watches all(lines);
  ASSERT_EQ(::kill(processes_in(lines).back(), SIGKILL), 0);
  const auto ended = job.finish();
  expect_failure(ended, "amity: rank " + std::to_string(ranks() - 1) + " (pid ", 128 + SIGKILL);
  EXPECT_PRED2(contains, ended.errors, ") was killed by signal 9 (Killed)");
  EXPECT_TRUE(all.all_end());
}

TEST_P(launched_program, ends_when_its_launcher_is_killed) {
  child job(command({"wait"}), options());
  const watches all(job.wait_for_lines(static_cast<std::size_t>(ranks())));
  job.signal(SIGKILL);
  EXPECT_TRUE(all.all_end());
}

TEST_P(launched_program, ends_when_it_is_interrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    child job(command({"wait"}), options());
    const watches all(job.wait_for_lines(static_cast<std::size_t>(ranks())));
    job.signal(signal);
    expect_failure(job.finish(), "amity: received signal " + std::to_string(signal), 128 + signal);
    EXPECT_TRUE(all.all_end());
  }
}

TEST(run_world, ranks_with_different_settings_are_told_so) {
  const auto ended =
      child(amity_command({"run", "-n", "2", "sh", "-c",
                           "[ $AMITY_RANK = 0 ] || export AMITY_SHM_BUFFERS=8; exec \"$0\" sum", WORLD_PROGRAM}))
          .finish();
  expect_failure(ended, "the AMITY_SHM_* settings of this rank differ");
}

TEST(run_world, a_job_that_is_not_there_is_an_error_and_no_lonely_rank) {
  const auto ended =
      child({WORLD_PROGRAM, "sum"}, {.environment = {"AMITY_RANK=0", "AMITY_RANKS=2", "AMITY_JOB_FD=99"}}).finish();
  EXPECT_EQ(ended.output, "");
  expect_failure(ended, "AMITY_JOB_FD=99 is not an open descriptor in this process");
}

TEST(run_world, a_second_program_cannot_pass_for_a_rank) {
  const auto ended =
      child(amity_command({"run", "-n", "1", "sh", "-c", "\"$0\" sum && \"$0\" sum", WORLD_PROGRAM})).finish();
  expect_failure(ended, "this rank has joined already");
}

}  // namespace
}  // namespace amity::tests
