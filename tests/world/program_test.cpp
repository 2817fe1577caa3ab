/// Programs whose ranks are processes that the program itself has started, and the same on the other fabrics.

#include <csignal>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sanitizer.hpp"
#include "tests/tools/child.hpp"

namespace amity {
namespace {

using tests::child;
using tests::contains;
using job = tests::fabric_job;
using tests::outcome;

class programs : public ::testing::TestWithParam<job> {
 protected:
  outcome run(std::vector<std::string> arguments, std::vector<std::string> environment = {}) const {
    arguments.insert(arguments.begin(), PROGRAM);
    environment.push_back("AMITY_FABRIC=" + GetParam().fabric);
    environment.push_back("AMITY_RANKS=" + std::to_string(ranks()));
    return child(std::move(arguments), {.environment = std::move(environment)}).finish();
  }
  int ranks() const { return GetParam().ranks; }
};

INSTANTIATE_TEST_SUITE_P(world, programs,
                         ::testing::Values(job{"shm", 2}, job{"shm", 3}, job{"shm", 4}, job{"shm", 8},
                                           job{"threads", 3}, job{"sim", 3}),
                         tests::job_name);

/// Those whose ranks are processes.
class launched_programs : public programs {};
INSTANTIATE_TEST_SUITE_P(world, launched_programs, ::testing::Values(job{"shm", 2}, job{"shm", 3}, job{"shm", 8}),
                         tests::job_name);

std::string ring_of(int ranks) {
  return std::to_string(ranks) + " ranks, " + std::to_string(10 * ranks) + " messages\n";
}

TEST_P(programs, are_one_job) {
  const auto ended = run({"ring"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.output, ring_of(ranks()));
  EXPECT_EQ(ended.errors, "");
}

// The system loads programs and libraries at addresses of their own in each process.
TEST_P(launched_programs, send_functions_of_libraries) {
  const auto ended = run({"library", ASYNC_LIBRARY});
  EXPECT_EQ(ended.output, std::to_string(ranks()) + " of " + std::to_string(ranks()) + " have heard both\n");
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
}

TEST_P(programs, end_with_the_status_of_the_rank_that_failed) { EXPECT_EQ(run({"fail in an epoch"}).status, 7); }

// Of 256 the system would keep 0.
TEST_P(programs, do_not_succeed_with_any_other_status_than_0) { EXPECT_EQ(run({"end with 256"}).status, 1); }

TEST_P(programs, early_exit_fails_job) {
  const auto ended = run({"exit"});
  tests::expect_failure(ended, "amity: exit (rank " + std::to_string(ranks() - 1) + "): exit(0) was called");
}

TEST_P(programs, name_rank_type_and_source_of_exception) {
  for (const auto& [what, text] : {std::pair{"error", "amity: test (rank 1): no sevens; send others\n"},
                                   {"exception", "no sevens\n"},
                                   {"oddity", "of unknown type\n"}}) {
    const auto ended = run({"throw in a handler", what});
    EXPECT_EQ(ended.status, 1);
    EXPECT_PRED2(contains, ended.errors,
                 std::string("amity: the program ended with an exception on rank 1, in the handler of 'int' for a "
                             "message of rank 0: ") +
                     text);
    EXPECT_EQ(ended.errors.find(text), ended.errors.rfind(text)) << ended.errors;
  }
  EXPECT_PRED2(contains, run({"throw in a handler", "here"}).errors,
               "on rank 1, in the handler of 'int' for a message of rank 1: of unknown type\n");
}

/// Fabrics whose ranks share a process.
class programs_of_one_process : public programs {};
INSTANTIATE_TEST_SUITE_P(world, programs_of_one_process, ::testing::Values(job{"threads", 3}, job{"sim", 3}),
                         tests::job_name);

TEST_P(programs_of_one_process, name_rank_of_crash) {
  for (const auto& [how, name, number] : {std::tuple{"segv", "SIGSEGV at address 0x0", SIGSEGV},
                                          {"fpe", "SIGFPE at address 0x", SIGFPE},
                                          {"abort", "SIGABRT\n", SIGABRT},
                                          {"bus", "SIGBUS\n", SIGBUS},
                                          {"ill", "SIGILL\n", SIGILL},
                                          {"terminate", "SIGABRT\n", SIGABRT},
                                          {"stack", "SIGSEGV at address 0x", SIGSEGV}}) {
    if (testing::sanitized && std::string_view(how) == "fpe") continue;  // the sanitizer of undefined behavior ends it
    const auto ended = run({"crash", how});
    EXPECT_PRED2(contains, ended.errors,
                 std::string("amity: rank 2: the program has crashed on this rank with ") + name);
    EXPECT_EQ(ended.errors.find("has crashed"), ended.errors.rfind("has crashed")) << ended.errors;
    if (!testing::sanitized) {
      EXPECT_EQ(ended.status, -number) << how;
    }
    if (std::string_view(how) == "stack" && GetParam().fabric == "sim") {
      EXPECT_PRED2(contains, ended.errors, "its stack is full; raise AMITY_SIM_STACK_BYTES");
    }
  }
}

TEST_P(programs_of_one_process, leave_crash_to_own_handler) {
  const auto ended = run({"crash with a handler", "segv"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_PRED2(contains, ended.errors, "SIGSEGV at address 0x0\nthe program's own handler\n");
}

TEST_P(programs_of_one_process, leave_crash_of_own_thread_alone) {
  const auto ended = run({"crash with a handler", "own thread"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.errors, "the program's own handler\n");
}

TEST_P(programs_of_one_process, ignore_signals_that_end_no_rank) {
  for (const char* const how : {"ignored", "child"}) {
    const auto ended = run({"crash", how});
    EXPECT_EQ(ended.status, 0) << how;
    EXPECT_EQ(ended.errors, "") << how;
  }
}

TEST_P(programs, say_which_message_types_differ) {
  tests::expect_failure(
      run({"different types"}),
      "amity: message arrival (rank 1): rank 0 sent a message for handler #1, which is of another type there "
      "than 'double' here; make the same message types, or add the same handlers, in the same order on all ranks\n");
}

TEST_P(programs, run_checked_and_print_trace_reports_in_order) {
  const auto ended = run({"ring"}, {"AMITY_FABRIC_CHECKED=1", "AMITY_FABRIC_TRACED=1"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.output, ring_of(ranks()));
  std::size_t at = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    at = ended.errors.find("rank " + std::to_string(rank) + " of " + std::to_string(ranks()) + " on ", at);
    ASSERT_NE(at, std::string::npos) << ended.errors;
  }
}

TEST(program, may_make_its_own_settings) {
  const auto ended = child({PROGRAM, "own settings"}).finish();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.output, ring_of(3));
  EXPECT_EQ(ended.errors, "");
}

TEST(program, a_launched_rank_cannot_join_its_job_twice) {
  const auto ended = child({PROGRAM, "twice"}, {.environment = {"AMITY_RANKS=2"}}).finish();
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.output, ring_of(2));
  EXPECT_PRED2(contains, ended.errors, "this rank has joined already");
}

TEST(program, without_a_launcher_may_run_twice) {
  for (const char* const fabric : {"shm", "threads", "sim"}) {
    const auto ended = child({PROGRAM, "twice"}, {.environment = {std::string("AMITY_FABRIC=") + fabric}}).finish();
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.output, ring_of(1) + ring_of(1));
    EXPECT_EQ(ended.errors, "");
  }
}

}  // namespace
}  // namespace amity
