// amity run --prefix: who wrote which line.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "amity/base/file_descriptor.hpp"
#include "amity/world/launch/line_merger.hpp"
#include "child.hpp"
#include "tests/support/sanitizer.hpp"

namespace amity::tests {
namespace {

std::vector<std::string> with_prefix(int ranks, std::string script) {
  return amity_command({"run", "-n", std::to_string(ranks), "--prefix", "sh", "-c", std::move(script)});
}

class prefix_with_ranks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ranks, prefix_with_ranks, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(prefix_with_ranks, lines_never_mix) {
  // Each line is written in pieces; both streams end in one pipe.
  auto command = with_prefix(GetParam(),
                             "for i in $(seq 200); do printf one-$i; printf -- '-two-%0200d\\n' $AMITY_RANK; "
                             "printf err- >&2; echo or >&2; done");
  command.insert(command.begin(), {"sh", "-c", "exec \"$@\" 2>&1", "-"});
  const auto ended = child(command).finish();
  ASSERT_EQ(ended.status, 0);
  std::map<std::string, int> lines;
  std::istringstream text(ended.output);
  for (std::string line; std::getline(text, line);) ++lines[line];
  for (int rank = 0; rank < GetParam(); ++rank) {
    const auto name = std::to_string(rank);
    for (int i = 1; i <= 200; ++i) {
      const auto line =
          "[" + name + "] one-" + std::to_string(i) + "-two-" + std::string(200 - name.size(), '0') + name;
      EXPECT_EQ(lines[line], 1) << line;
      lines.erase(line);
    }
    EXPECT_EQ(lines["[" + name + "] err-or"], 200);
    lines.erase("[" + name + "] err-or");
  }
  EXPECT_TRUE(lines.empty()) << "also found: " << lines.begin()->first;
}

TEST(run_output, streams_stay_apart) {
  const auto ended = child(with_prefix(2, "echo out; echo err >&2")).finish();
  EXPECT_EQ(std::set<std::string>({"[0] out\n[1] out\n", "[1] out\n[0] out\n"}).count(ended.output), 1u)
      << ended.output;
  EXPECT_EQ(std::set<std::string>({"[0] err\n[1] err\n", "[1] err\n[0] err\n"}).count(ended.errors), 1u)
      << ended.errors;
}

TEST(run_output, unfinished_lines_get_an_end_and_empty_ones_are_kept) {
  EXPECT_EQ(child(with_prefix(1, "printf 'no end'")).finish().output, "[0] no end\n");
  EXPECT_EQ(child(with_prefix(1, "printf 'a\\n\\nb\\n'")).finish().output, "[0] a\n[0] \n[0] b\n");
}

TEST(run_output, a_line_appears_before_its_rank_ends) {
  child job(with_prefix(1, "echo first; read line; echo $line"));
  EXPECT_EQ(job.wait_for_lines(1).front(), "[0] first");
  job.type("second\n");
  EXPECT_EQ(job.wait_for_lines(2).back(), "[0] second");
  EXPECT_EQ(job.finish().status, 0);
}

TEST(run_output, an_endless_line_is_cut) {
  constexpr std::size_t bytes = 3 * detail::line_merger::line_bytes_max / 2;
  const auto ended = child(with_prefix(1, "head -c " + std::to_string(bytes) + " /dev/zero | tr '\\0' x")).finish();
  std::istringstream text(ended.output);
  std::string first, second, third;
  ASSERT_TRUE(std::getline(text, first) && std::getline(text, second));
  EXPECT_FALSE(std::getline(text, third));
  EXPECT_EQ(first, "[0] " + std::string(detail::line_merger::line_bytes_max, 'x'));
  EXPECT_EQ(second, "[0] " + std::string(bytes - detail::line_merger::line_bytes_max, 'x'));
}

TEST(run_output, much_output_through_a_slow_reader_is_complete) {
  auto command = with_prefix(2, "seq 100000");
  command.insert(command.begin(), {"sh", "-c", "\"$@\" | { read first; sleep 0.2; wc -l; }", "-"});
  EXPECT_EQ(child(command).finish().output, "199999\n");
}

/// The command with its streams redirected as in a shell.
std::vector<std::string> redirected(std::vector<std::string> command, const std::string& where) {
  command.insert(command.begin(), {"bash", "-c", "exec \"$@\" " + where, "-"});
  return command;
}

TEST(run_output, closed_reader_ends_job) {
  auto command = with_prefix(2, "exec yes");
  command.insert(command.begin(), {"sh", "-c", "{ \"$@\"; echo status $? >&2; } | head -n 1", "-"});
  const auto ended = child(command).finish();
  EXPECT_EQ(ended.output.substr(2), "] y\n");
  EXPECT_PRED2(contains, ended.errors, "amity: run: cannot write to standard output: Broken pipe; ending all ranks\n");
  EXPECT_PRED2(contains, ended.errors, "status 141\n") << "as the shell reports SIGPIPE";
}

TEST(run_output, full_disk_fails_job) {
  for (const auto* const script : {"echo a line", "exec yes", "trap '' PIPE; exec yes"}) {
    const auto ended = child(redirected(with_prefix(2, script), ">/dev/full")).finish();
    EXPECT_EQ(ended.status, 1) << script;
    EXPECT_PRED2(contains, ended.errors,
                 "amity: run: cannot write to standard output: No space left on device; "
                 "redirect it to a file with free space");
    EXPECT_FALSE(contains(ended.errors, "signal")) << ended.errors;
  }
}

TEST(run_output, full_disk_for_errors_fails_job_that_has_not_failed) {
  EXPECT_EQ(child(redirected(with_prefix(2, "echo out; echo err >&2"), "2>/dev/full")).finish().status, 1);
  EXPECT_EQ(child(redirected(with_prefix(1, "exit 7"), "2>/dev/full")).finish().status, 7);
}

TEST(run_output, memory_is_bounded) {
  const auto ended = child(redirected(with_prefix(2, "yes | head -c 60000000"), ">/dev/null")).finish();
  EXPECT_EQ(ended.status, 0);
  if (!testing::sanitized) {
    EXPECT_LT(ended.memory_bytes_max, 40u << 20);
  }
}

/// A pipe that no process reads.
class unread_pipe {
 public:
  unread_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    reading_end_ = file_descriptor(ends[0]);
    writing_end_ = file_descriptor(::fcntl(ends[1], F_DUPFD, 10));  // the command inherits it
    ::close(ends[1]);
  }
  std::string writing_end() const { return std::to_string(writing_end_.get()); }
  void close() {
    reading_end_.reset();
    writing_end_.reset();
  }

 private:
  file_descriptor reading_end_, writing_end_;
};

constexpr auto long_line = "printf %070000d 0; echo; ";

/// Two ranks that print a long line into the pipe, and the launcher's messages, which the test reads.
std::vector<std::string> with_unread_line(const unread_pipe& pipe, const std::string& then) {
  return redirected(with_prefix(2, long_line + then), "2>&1 >&" + pipe.writing_end());
}

TEST(run_output, killed_rank_is_noticed_without_reader) {
  unread_pipe pipe;
  child job(with_unread_line(pipe, "kill -9 $$"));
  EXPECT_PRED2(contains, job.wait_for_lines(1).front(), "was killed by signal 9");
  pipe.close();
  EXPECT_EQ(job.finish().status, 128 + SIGKILL);
}

TEST(run_output, interrupt_ends_job_without_reader) {
  const unread_pipe pipe;
  child job(with_unread_line(pipe, "echo ready >&2; sleep 1000"));
  job.wait_for_lines(2);
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().status, 128 + SIGTERM);
}

TEST(run_output, long_lines_of_both_streams_stay_whole) {
  auto command = with_prefix(2, "for i in 1 2 3; do printf %050000d 1; echo; printf %060000d 2 >&2; echo >&2; done");
  command.insert(command.begin(), {"sh", "-c", "\"$@\" 2>&1 | { sleep 0.1; cat; }", "-"});
  std::istringstream text(child(command).finish().output);
  std::map<std::size_t, int> lengths;
  for (std::string line; std::getline(text, line);) {
    EXPECT_EQ(line.find('[', 1), std::string::npos);
    ++lengths[line.size()];
  }
  EXPECT_EQ(lengths, (std::map<std::size_t, int>{{50004, 6}, {60004, 6}}));
}

TEST(run_output, helpers_left_behind_do_not_hold_the_launcher) {
  child job(with_prefix(1, "sleep 1000 & echo helper $!"));
  const auto helper = processes_in(job.wait_for_lines(1)).front();
  EXPECT_EQ(job.finish().status, 0);
  EXPECT_EQ(::kill(helper, SIGKILL), 0) << "after success they may go on";
}

}  // namespace
}  // namespace amity::tests
