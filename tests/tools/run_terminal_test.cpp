// amity run on a terminal.

#include <signal.h>

#include <gtest/gtest.h>

#include "child.hpp"

namespace amity::tests {
namespace {

const child_options on_terminal{.environment = {}, .terminal = true};

TEST(run_terminal, ctrl_c_ends_all_ranks) {
  child job(run_ranks(3, {"join"}), on_terminal);
  const watches all(job.wait_for_lines(3));
  job.type("\x03");
  EXPECT_EQ(job.finish().status, 128 + SIGINT);
  EXPECT_TRUE(all.all_end());
}

TEST(run_terminal, rank_0_reads_what_is_typed) {
  child job(amity_command({"run", "-n", "2", "sh", "-c",
                           "[ $AMITY_RANK = 0 ] || exit 0; stty -echo < /dev/tty; "
                           "echo ready; read a; read b; echo got $a $b; cat; echo end"}),
            on_terminal);
  EXPECT_EQ(job.wait_for_lines(1).back(), "ready");
  job.type("one\ntwo\n");
  EXPECT_EQ(job.wait_for_lines(2).back(), "got one two");
  job.type("\x04");
  EXPECT_EQ(job.wait_for_lines(3).back(), "end");
  EXPECT_EQ(job.finish().status, 0);
}

TEST(run_terminal, in_the_background_it_leaves_the_input_to_others) {
  auto command = amity_command({"run", "-n", "2", "sh", "-c", "[ $AMITY_RANK = 0 ] || exit 0; read a; echo rank: $a"});
  command.insert(
      command.begin(),
      {"bash", "-c", "stty -echo; set -m; \"$@\" & echo ready; read a; echo shell: $a; fg > /dev/null", "-"});
  child job(command, on_terminal);
  EXPECT_EQ(job.wait_for_lines(1).back(), "ready");
  job.type("one\n");
  EXPECT_EQ(job.wait_for_lines(2).back(), "shell: one");
  job.type("two\n");
  EXPECT_EQ(job.wait_for_lines(3).back(), "rank: two");
  EXPECT_EQ(job.finish().status, 0);
}

TEST(run_terminal, ranks_write_to_the_terminal_itself) {
  child job(amity_command({"run", "-n", "2", "sh", "-c", "[ -t 1 ] && [ -t 2 ] && echo terminal"}), on_terminal);
  EXPECT_EQ(job.wait_for_lines(2).back(), "terminal");
  EXPECT_EQ(job.finish().status, 0);
}

TEST(run_terminal, losing_the_terminal_ends_all_ranks) {
  child job(run_ranks(2, {"join"}), on_terminal);
  const watches all(job.wait_for_lines(2));
  job.signal(SIGHUP);
  EXPECT_EQ(job.finish().status, 128 + SIGHUP);
  EXPECT_TRUE(all.all_end());
}

}  // namespace
}  // namespace amity::tests
