// amity run: every way in which a job can end badly ends all of it, and says why.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "child.hpp"

namespace amity::tests {
namespace {

class stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Far more ranks than can start before the first of them is noticed.
constexpr int many_ranks = 3000;

TEST(run_end, failed_rank_stops_start) {
  const auto ended =
      child(amity_command({"run", "-n", std::to_string(many_ranks), "sh", "-c", "echo started; exit 3"})).finish();
  EXPECT_EQ(ended.status, 3);
  EXPECT_LT(std::ranges::count(ended.output, '\n'), many_ranks / 2);
}

TEST(run_end, interrupt_stops_start) {
  child job(amity_command({"run", "-n", std::to_string(many_ranks), "sh", "-c", "echo started $$; exec sleep 1000"}));
  const watches first(job.wait_for_lines(1));
  job.signal(SIGINT);
  const auto ended = job.finish();
  EXPECT_EQ(ended.status, 128 + SIGINT);
  EXPECT_LT(std::ranges::count(ended.output, '\n'), many_ranks / 2);
  EXPECT_TRUE(first.all_end());
}

TEST(run_end, many_ended_ranks_are_all_noticed) {
  const auto ended = child(amity_command({"run", "-n", "200", "sh", "-c", "read line; exit 0"})).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

TEST(run_end, a_killed_rank_is_blamed_though_others_end_before_the_launcher_looks) {
  child job(amity_command(
      {"run", "-n", "2", "sh", "-c", "trap 'exit 5' USR1; echo $AMITY_RANK $$; while :; do sleep 0.01; done"}));
  auto lines = job.wait_for_lines(2);
  std::ranges::sort(lines);
  const auto ranks = processes_in(lines);
  job.signal(SIGSTOP);
  job.wait_until_stopped();
  const watches all(lines);
  ASSERT_EQ(::kill(ranks.at(1), SIGKILL), 0);
  ASSERT_EQ(::kill(ranks.at(0), SIGUSR1), 0);
  EXPECT_TRUE(all.all_end());
  job.signal(SIGCONT);
  EXPECT_EQ(job.finish().status, 128 + SIGKILL);
}

// The time limit of `child` is the bound: without SIGKILL, the rank sleeps much longer than that.
TEST(run_end, a_rank_that_ignores_sigterm_is_killed) {
  const auto ended = child(amity_command({"run", "-n", "2", "sh", "-c",
                                          "trap '' TERM; [ $AMITY_RANK = 0 ] && exit 7; while :; do sleep 1000; done"}))
                         .finish();
  EXPECT_EQ(ended.status, 7);
}

TEST(run_end, a_second_interrupt_kills_at_once) {
  child job(amity_command({"run", "-n", "2", "sh", "-c", "trap '' INT; echo ready $$; while :; do sleep 1000; done"}));
  const watches all(job.wait_for_lines(2));
  job.signal(SIGINT);
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().status, 128 + SIGINT);
  EXPECT_TRUE(all.all_end());
}

TEST(run_end, a_rank_may_end_in_good_order_when_the_job_is_aborted) {
  const auto ended = child(run_ranks(3, {"fail-last", "obey"})).finish();
  EXPECT_EQ(ended.status, 3) << "the first failure counts";
  EXPECT_PRED2(contains, ended.output, "obeys");
  EXPECT_FALSE(contains(ended.errors, "status 5")) << ended.errors;
}

TEST(run_end, the_rank_that_aborted_the_job_is_blamed_though_it_ends_last) {
  const auto ended = child(run_ranks(3, {"obey", "abort-last", "obey"})).finish();
  expect_failure(ended, "amity: rank 1 (pid ", 6);
  EXPECT_FALSE(contains(ended.errors, "status 5")) << ended.errors;
}

/// Three ranks that end while the launcher is stopped: it finds all of them at once. Rank 1 aborts the job and ends
/// last, after `also` was done to one of the others.
outcome end_while_the_launcher_is_stopped(const std::function<void(pid_t)>& also) {
  child job(run_ranks(3, {"obey", "abort-when-told", "obey"}));
  const auto lines = job.wait_for_lines(4);
  const watches all(lines);
  const auto waits = *std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("waits"); });
  const pid_t told = processes_in({waits}).front();
  const auto processes = processes_in(lines);
  job.signal(SIGSTOP);
  job.wait_until_stopped();
  also(*std::ranges::find_if(processes, [&](pid_t process) { return process != told; }));
  EXPECT_EQ(::kill(told, SIGUSR1), 0);
  EXPECT_TRUE(all.all_end());
  job.signal(SIGCONT);
  return job.finish();
}

TEST(run_end, of_ranks_that_have_ended_the_one_that_aborted_the_job_is_blamed) {
  const auto ended = end_while_the_launcher_is_stopped([](pid_t) {});
  expect_failure(ended, "amity: rank 1 (pid ", 6);
}

TEST(run_end, of_ranks_that_have_ended_one_that_was_killed_is_blamed_before_the_one_that_noticed) {
  const auto ended = end_while_the_launcher_is_stopped([](pid_t other) { EXPECT_EQ(::kill(other, SIGKILL), 0); });
  expect_failure(ended, "was killed by signal 9", 128 + SIGKILL);
}

TEST(run_end, a_rank_must_not_vanish_inside_amity_run) {
  const auto ended = child(run_ranks(3, {"join", "desert", "join"})).finish();
  expect_failure(ended, "amity: rank 1 (pid ");
  EXPECT_PRED2(contains, ended.errors,
               ") exited with status 0 inside amity::run, without leaving it; ending the other ranks\n");
}

TEST(run_end, rank_ends_job_with_success) {
  const auto ended = child(run_ranks(3, {"join", "join", "succeed"})).finish();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
}

TEST(run_end, a_rank_that_left_is_no_loss) {
  child job(run_ranks(2, {"leave-and-stay", "leave"}));
  const auto processes = processes_in(job.wait_for_lines(2));
  ASSERT_EQ(::kill(processes.front(), 0), 0);
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().status, 128 + SIGTERM) << "nothing else has ended the job";
}

TEST(run_end, ranks_need_not_join) { EXPECT_EQ(child(run_ranks(2, {"quit"})).finish().status, 0); }

TEST(run_end, others_do_not_wait_for_a_rank_that_never_joined) {
  const auto ended = child(run_ranks(2, {"join", "quit"})).finish();
  expect_failure(ended, "amity: rank 1 (pid ");
  EXPECT_PRED2(contains, ended.errors,
               ") exited without calling amity::run, where rank 0 waits for it; ending the other ranks\n");
}

TEST(run_end, nor_if_they_join_later) {
  child job(
      amity_command({"run", "-n", "2", "sh", "-c",
                     "[ $AMITY_RANK = 1 ] && { echo quits $$; exit 0; }; exec \"$0\" join-on-input", RANK_PROGRAM}));
  const auto lines = job.wait_for_lines(2);
  const auto quits = std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("quits"); });
  ASSERT_NE(quits, lines.end());
  ASSERT_TRUE(process_watch(processes_in({*quits}).front()).ends());
  job.type("go\n");
  expect_failure(job.finish(), "exited without calling amity::run, where rank 0 waits for it");
}

constexpr auto with_helper = "sleep 1000 & echo helper $!; wait";

TEST(run_end, what_the_ranks_have_started_ends_with_a_failed_job) {
  child job(amity_command(
      {"run", "-n", "2", "sh", "-c", std::string("[ $AMITY_RANK = 0 ] && { read line; exit 9; }; ") + with_helper}));
  const watches helper(job.wait_for_lines(1));
  job.type("fail\n");
  EXPECT_EQ(job.finish().status, 9);
  EXPECT_TRUE(helper.all_end());
}

TEST(run_end, what_the_ranks_have_started_ends_with_a_killed_launcher) {
  child job(amity_command({"run", "-n", "2", "sh", "-c", with_helper}));
  const watches helpers(job.wait_for_lines(2));
  job.signal(SIGKILL);
  EXPECT_TRUE(helpers.all_end());
}

/// The launcher's helper for the case above, as soon as it has its name.
pid_t find_guard_of(pid_t launcher) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::stringstream text;
    text << file.rdbuf();
    int process = 0, parent = 0;
    char state = ' ';  // whichever: it may only be about to sleep
    if (std::sscanf(text.str().c_str(), "%d (amity guard) %c %d", &process, &state, &parent) == 3 &&
        parent == launcher) {
      return process;
    }
  }
  return 0;
}
pid_t guard_of(pid_t launcher) {
  const stopwatch waited;
  pid_t found = 0;
  while ((found = find_guard_of(launcher)) == 0 && waited.seconds() < 30) ::usleep(1000);
  return found;
}

TEST(run_end, ranks_end_with_a_killed_launcher_even_without_its_guard) {
  child job(run_ranks(2, {"join"}));
  const watches ranks(job.wait_for_lines(2));
  const pid_t guard = guard_of(job.pid());
  ASSERT_GT(guard, 0);
  ASSERT_EQ(::kill(guard, SIGKILL), 0);
  job.signal(SIGKILL);
  EXPECT_TRUE(ranks.all_end());
}

TEST(run_end, what_the_ranks_have_started_ends_with_a_killed_rank) {
  child job(amity_command({"run", "-n", "2", "sh", "-c", std::string("echo rank $$; ") + with_helper}));
  const auto lines = job.wait_for_lines(4);
  const watches all(lines);
  for (const auto& line : lines) {
    if (line.starts_with("rank")) {
      ASSERT_EQ(::kill(processes_in({line}).front(), SIGKILL), 0);
      break;
    }
  }
  EXPECT_EQ(job.finish().status, 128 + SIGKILL);
  EXPECT_TRUE(all.all_end());
}

TEST(run_end, statuses_are_seen_though_the_caller_ignores_its_children) {
  const auto ended =
      child({"sh", "-c", "trap '' CHLD; exec \"$@\"", "-", AMITY_COMMAND, "run", "-n", "2", "sh", "-c", "exit 6"})
          .finish();
  EXPECT_EQ(ended.status, 6);
}

TEST(run_end, a_signal_that_was_ignored_before_stays_ignored) {
  child job({"sh", "-c", "trap '' INT; exec \"$@\"", "-", AMITY_COMMAND, "run", "-n", "2", RANK_PROGRAM, "join"});
  job.wait_for_lines(2);
  job.signal(SIGINT);
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().status, 128 + SIGTERM);
}

/// Third field of /proc/PID/stat: R, S, T (stopped), Z ...
char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const auto after_name = text.str().rfind(')');
  return after_name == std::string::npos ? ' ' : text.str().at(after_name + 2);
}

bool becomes(pid_t process, bool stopped) {
  const stopwatch time;
  while (time.seconds() < 30) {
    if ((state_of(process) == 'T') == stopped) return true;
  }
  return false;
}

TEST(run_end, a_stopped_launcher_stops_its_ranks_and_continues_them) {
  child job(run_ranks(2, {"join"}));
  const auto ranks = processes_in(job.wait_for_lines(2));
  job.signal(SIGTSTP);
  job.wait_until_stopped();
  for (const pid_t rank : ranks) EXPECT_TRUE(becomes(rank, true));
  job.signal(SIGCONT);
  for (const pid_t rank : ranks) EXPECT_TRUE(becomes(rank, false));
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().status, 128 + SIGTERM);
}

}  // namespace
}  // namespace amity::tests
