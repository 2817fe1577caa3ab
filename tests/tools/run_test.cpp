// amity run: what ranks start with, and what it returns when nothing goes wrong.

#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "child.hpp"

namespace amity::tests {
namespace {

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  std::ranges::sort(lines);
  return lines;
}

outcome run(std::vector<std::string> arguments, const child_options& options = {}) {
  arguments.insert(arguments.begin(), "run");
  return child(amity_command(std::move(arguments)), options).finish();
}

class run_with_ranks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ranks, run_with_ranks, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(run_with_ranks, starts_each_rank_once) {
  const int ranks = GetParam();
  const auto ended =
      run({"-n", std::to_string(ranks), "sh", "-c", "echo $AMITY_RANK of $AMITY_RANKS by $AMITY_FABRIC"});
  std::vector<std::string> expected;
  for (int rank = 0; rank < ranks; ++rank) {
    expected.push_back(std::to_string(rank) + " of " + std::to_string(ranks) + " by shm");
  }
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(sorted_lines(ended.output), expected);
  EXPECT_EQ(ended.errors, "");
}

TEST_P(run_with_ranks, returns_the_exit_status_of_the_rank_that_failed) {
  const int last = GetParam() - 1;
  const auto ended = run({"-n", std::to_string(GetParam()), "sh", "-c",
                          "[ $AMITY_RANK = " + std::to_string(last) + " ] && exit 42; sleep 1000"});
  expect_failure(ended, "amity: rank " + std::to_string(last) + " (pid ", 42);
  EXPECT_PRED2(contains, ended.errors, ") exited with status 42");
  EXPECT_EQ(contains(ended.errors, "; ending the other ranks"), last > 0) << ended.errors;
}

TEST(run, passes_arguments_on_unchanged) {
  const auto ended = run(
      {"-n", "1", "sh", "-c", R"(printf '<%s>' "$@")", "-", "-n", "7", "--prefix", "", "a b", "--", "[1,2]", "info"});
  EXPECT_EQ(ended.output, "<-n><7><--prefix><><a b><--><[1,2]><info>");
}

TEST(run, two_dashes_end_its_options) { EXPECT_EQ(run({"-n", "2", "--", "echo", "x"}).output, "x\nx\n"); }

TEST(run, takes_the_number_of_ranks_from_the_setting) {
  EXPECT_EQ(run({"echo", "x"}, {.environment = {"AMITY_RANKS=3"}}).output, "x\nx\nx\n");
  EXPECT_EQ(run({"-n", "2", "echo", "x"}, {.environment = {"AMITY_RANKS=3"}}).output, "x\nx\n");
}

TEST(run, replaces_variables_of_an_outer_job) {
  const auto ended = run({"-n", "1", "sh", "-c", "env | grep -c ^AMITY_RANK=; echo $AMITY_RANK"},
                         {.environment = {"AMITY_RANK=5", "AMITY_JOB_FD=77"}});
  EXPECT_EQ(ended.output, "1\n0\n");
}

TEST(run, blocks_no_signal_of_a_rank) {
  EXPECT_EQ(run({"-n", "1", "grep", "SigBlk", "/proc/self/status"}).output, "SigBlk:\t0000000000000000\n");
}

TEST(run, forwards_usr1_to_ranks) {
  const std::string rank = "trap 'kill $!; echo notified; exit 0' USR1; sleep 1000 & echo ready; wait";
  child job(amity_command({"run", "-n", "3", "sh", "-c", rank}));
  job.wait_for_lines(3);
  job.signal(SIGUSR1);
  const outcome ended = job.finish();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.output, "ready\nready\nready\nnotified\nnotified\nnotified\n");
}

TEST(run, only_rank_0_reads_standard_input) {
  child job(amity_command({"run", "-n", "3", "--prefix", "cat"}));
  job.type("a line\n");
  EXPECT_EQ(job.finish().output, "[0] a line\n");
}

TEST(run, pins_rank_i_to_the_ith_allowed_cpu) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) cpus.push_back(cpu);
  }
  const auto ended =
      run({"-n", "3", "--pin", "sh", "-c", "echo $AMITY_RANK $(grep Cpus_allowed_list /proc/$$/status)"});
  std::vector<std::string> expected;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    expected.push_back(std::to_string(rank) + " Cpus_allowed_list: " + std::to_string(cpus[rank % cpus.size()]));
  }
  EXPECT_EQ(sorted_lines(ended.output), expected);

  // A rank has as many as it has threads.
  const auto threaded = run({"-n", "1", "-t", "2", "--pin", "nproc"});
  EXPECT_EQ(threaded.output, std::to_string(std::min<std::size_t>(2, cpus.size())) + "\n");
}

TEST(run, names_a_program_that_does_not_exist) {
  const auto ended = run({"-n", "4", "no-such-program"});
  EXPECT_EQ(ended.status, 127);
  EXPECT_EQ(ended.errors,
            "amity: run: cannot start 'no-such-program': No such file or directory; "
            "check the name; it is in no directory of PATH\n");
  EXPECT_PRED2(contains, run({"./no/such/program"}).errors, "cannot start './no/such/program': No such file");
}

TEST(run, tells_what_is_wrong_with_a_file_that_is_no_program) {
  char directory[] = "/tmp/amity-run-test-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const auto path = std::string(directory) + "/text";
  std::ofstream(path) << "#!/no/such/interpreter\n";
  expect_failure(run({path}), "cannot start '" + path + "': Permission denied; make it executable", 126);
  EXPECT_PRED2(contains, run({directory}).errors, "Permission denied; name a program; this is a directory");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  EXPECT_PRED2(contains, run({path}).errors, "check the interpreter in its first line");
  std::filesystem::remove_all(directory);
}

TEST(run, refuses_a_wrong_command_line) {
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({"-n", "2"}).status, 2);
  EXPECT_EQ(run({"-n", "0", "true"}).status, 2);
  EXPECT_EQ(run({"-n", "two", "true"}).status, 2);
  expect_failure(run({"--prefx", "-n", "2", "true"}), "--prefx", 2);
}

TEST(run, refuses_settings_that_do_not_fit) {
  for (const std::string option : {"--prefix", "--pin"}) {
    EXPECT_PRED2(contains, run({"-n", "2", option, "true"}, {.environment = {"AMITY_FABRIC=threads"}}).errors,
                 "--prefix and --pin are not available with the fabric threads");
  }
  EXPECT_PRED2(contains, run({"true"}, {.environment = {"AMITY_RANKS=many"}}).errors, "AMITY_RANKS=many");
}

TEST(run, starts_programs_whose_ranks_share_a_process) {
  for (const std::string fabric : {"threads", "sim"}) {
    for (const bool by_option : {true, false}) {
      std::vector<std::string> words{"-n", "3", WORLD_PROGRAM, "sum"};
      if (by_option) words.insert(words.begin(), {"--fabric", fabric});
      const auto ended = run(words, {.environment = {"AMITY_FABRIC=" + (by_option ? "shm" : fabric)}});
      EXPECT_EQ(ended.status, 0) << ended.errors;
      EXPECT_PRED2(contains, ended.output, "rank 2 of 3: sum 3\n");
    }
    expect_failure(run({"--fabric", fabric, "-n", "3", WORLD_PROGRAM, "status"}), "", 9);
    expect_failure(run({"--fabric", fabric, "./there/is/none"}), "amity: run: cannot start './there/is/none': No such",
                   127);
  }
}

TEST(run, works_without_standard_descriptors) {
  const auto ended =
      child({"sh", "-c", "exec 0<&- 1>&-; exec \"$@\"", "-", AMITY_COMMAND, "run", "-n", "2", RANK_PROGRAM, "leave"})
          .finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

/// CPU time that a process has used.
double cpu_seconds_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  double ns = -1;
  file >> ns;
  EXPECT_GE(ns, 0);
  return 1e-9 * ns;
}

// A launcher that sleeps uses none, whatever the load of the machine; one that polls uses its share of a second.
TEST(run, uses_no_cpu_while_the_ranks_run) {
  child job(amity_command({"run", "-n", "2", "sh", "-c", "echo begins; sleep 1; echo ends; exec sleep 1000"}));
  job.wait_for_lines(2);
  const double before = cpu_seconds_of(job.pid());
  job.wait_for_lines(4);
  EXPECT_LT(cpu_seconds_of(job.pid()) - before, 0.1);
}

TEST(run, leaves_nothing_in_shared_memory) {
  const auto ours = [] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (contains(entry.path(), "amity")) names.insert(entry.path());
    }
    return names;
  };
  child job(run_ranks(2, {"join"}));
  job.wait_for_lines(2);
  EXPECT_EQ(ours(), std::set<std::string>{}) << "while the job runs, and so after any end of it";
}

}  // namespace
}  // namespace amity::tests
