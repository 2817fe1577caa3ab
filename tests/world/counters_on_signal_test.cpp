/// Counters of message types that SIGUSR1 and SIGTERM print while a job runs.

#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <sstream>
#include <string>
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
using columns = std::vector<std::string>;

/// "run" is shared memory under `amity run`; under "shm" the program starts its own ranks.
class counters_on_signal : public ::testing::TestWithParam<job> {
 protected:
  void SetUp() override {
    if (GetParam().fabric == "run" && std::string(AMITY_COMMAND).empty()) GTEST_SKIP() << "the command is not built";
  }

  child start(columns what, columns environment = {"AMITY_MESSAGE_COUNTERS=1"}) const {
    what.insert(what.begin(), {PROGRAM, "counters"});
    environment.push_back("AMITY_FABRIC=" + (has_processes() ? "shm" : GetParam().fabric));
    if (GetParam().fabric == "run") {
      const columns launcher = tests::amity_command({"run", "-n", std::to_string(ranks())});
      what.insert(what.begin(), launcher.begin(), launcher.end());
    } else {
      environment.push_back("AMITY_RANKS=" + std::to_string(ranks()));
    }
    return child(std::move(what), {.environment = std::move(environment)});
  }
  int ranks() const { return GetParam().ranks; }
  bool has_processes() const { return GetParam().fabric == "shm" || GetParam().fabric == "run"; }
  /// Status of a job that a signal to a rank has ended.
  int ended_by(int signal) const { return has_processes() ? 128 + signal : -signal; }
};

INSTANTIATE_TEST_SUITE_P(world, counters_on_signal,
                         ::testing::Values(job{"shm", 2}, job{"shm", 3}, job{"threads", 2}, job{"threads", 3},
                                           job{"sim", 2}, job{"sim", 3}, job{"run", 3}),
                         tests::job_name);

std::string title_of(int rank, const std::string& signal) {
  return "amity: rank " + std::to_string(rank) + ": messages by type at " + signal + " ";
}

/// The columns after the name, of each line of a rank about a message type.
std::vector<columns> rows_of(const std::string& errors, int rank, const std::string& type) {
  const std::string begin = "amity: rank " + std::to_string(rank) + ": " + type + " ";
  std::vector<columns> rows;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(begin)) continue;
    std::istringstream words(line.substr(begin.size()));
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

const columns ints{"6", "6", "3", "24"};  // sent, handled, packets, bytes

TEST_P(counters_on_signal, usr1_prints_each_rank) {
  const outcome ended = start({"usr1"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_PRED2(contains, ended.errors, title_of(rank, "SIGUSR1"));
    EXPECT_EQ(rows_of(ended.errors, rank, "int"), std::vector<columns>{ints}) << ended.errors;
  }
  EXPECT_EQ(rows_of(ended.errors, 0, "double"), (std::vector<columns>{{"1", "0", "1", "8"}}));
  EXPECT_EQ(rows_of(ended.errors, 1, "double"), (std::vector<columns>{{"0", "1", "0", "0"}}));
  EXPECT_PRED2(contains, ended.errors, "messages by type, all");  // the report at the end
}

TEST_P(counters_on_signal, term_prints_and_ends_process) {
  const outcome ended = start({"term"}).finish();
  EXPECT_EQ(ended.status, ended_by(SIGTERM));
  EXPECT_PRED2(contains, ended.errors, title_of(ranks() - 1, "SIGTERM"));
  EXPECT_FALSE(rows_of(ended.errors, ranks() - 1, "int").empty()) << ended.errors;
  if (has_processes()) {
    EXPECT_PRED2(contains, ended.errors, "was killed by signal 15");
  }
}

TEST_P(counters_on_signal, stuck_handler_is_reported) {
  child stuck = start({"stuck"});
  stuck.wait_for_lines(1);
  stuck.signal(SIGUSR1);  // the launcher forwards it
  for (int rank = 0; rank < ranks(); ++rank) {
    stuck.wait_for_errors("amity: rank " + std::to_string(rank) + ": int ");
  }
  stuck.signal(SIGTERM);
  const outcome ended = stuck.finish();
  EXPECT_EQ(ended.status, ended_by(SIGTERM));
  EXPECT_EQ(rows_of(ended.errors, 1, "int"), (std::vector<columns>{ints, ints})) << ended.errors;
  const columns first_of_two{"0", "1", "0", "0"};
  EXPECT_EQ(rows_of(ended.errors, 1, "char"), (std::vector<columns>{first_of_two, first_of_two})) << ended.errors;
  EXPECT_PRED2(contains, ended.errors, title_of(1, "SIGUSR1"));
  EXPECT_PRED2(contains, ended.errors, title_of(1, "SIGTERM"));
}

TEST_P(counters_on_signal, blocked_call_continues) {
  if (testing::thread_sanitized) GTEST_SKIP() << "the thread sanitizer defers signal handlers until the call returns";
  child blocked = start({"block"});
  blocked.wait_for_lines(1);
  blocked.signal(SIGUSR1);
  blocked.wait_for_errors("amity: rank 0: int ");
  blocked.type("x");
  const outcome ended = blocked.finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(rows_of(ended.errors, 0, "int"), std::vector<columns>{ints}) << ended.errors;
}

TEST_P(counters_on_signal, own_handlers_stay) {
  for (const char* const when : {"before", "after"}) {
    for (const char* const how : {"handle", "ignore"}) {
      const outcome ended = start({"own", when, how}).finish();
      EXPECT_EQ(ended.status, 0) << when << how;
      EXPECT_FALSE(contains(ended.errors, "messages by type at")) << ended.errors;
      EXPECT_EQ(contains(ended.errors, "own handler\n"), std::string(how) == "handle") << ended.errors;
    }
  }
}

class counters_of_launched_ranks : public counters_on_signal {};
INSTANTIATE_TEST_SUITE_P(world, counters_of_launched_ranks, ::testing::Values(job{"shm", 2}), tests::job_name);

TEST_P(counters_of_launched_ranks, own_handler_of_launcher_stays) {
  child blocked = start({"block", "before", "handle"});
  blocked.wait_for_lines(1);
  blocked.signal(SIGUSR1);
  blocked.wait_for_errors("own handler\n");
  blocked.type("x");
  const outcome ended = blocked.finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.errors.find("own handler"), ended.errors.rfind("own handler")) << "the ranks do not receive it";
}

TEST_P(counters_on_signal, forked_processes_print_nothing) {
  const outcome ended = start({"children"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_FALSE(contains(ended.errors, "messages by type at")) << ended.errors;
}

TEST_P(counters_on_signal, default_action_without_setting) {
  for (const auto& [what, signal] : {std::pair{"usr1", SIGUSR1}, std::pair{"term", SIGTERM}}) {
    const outcome ended = start({what}, {}).finish();
    EXPECT_EQ(ended.status, ended_by(signal)) << what;
    EXPECT_FALSE(contains(ended.errors, "messages by type")) << ended.errors;
  }
}

/// A launcher would wait for standard error itself.
class counters_of_one_process : public counters_on_signal {};
INSTANTIATE_TEST_SUITE_P(world, counters_of_one_process, ::testing::Values(job{"threads", 3}, job{"sim", 3}),
                         tests::job_name);

TEST_P(counters_of_one_process, full_stderr_does_not_block_term) {
  child full = start({"full"});
  EXPECT_TRUE(tests::process_watch(full.pid()).ends());  // nothing reads its standard error until then
  const outcome ended = full.finish();
  EXPECT_EQ(ended.status, ended_by(SIGTERM));
  EXPECT_FALSE(contains(ended.errors, "messages by type"));
}

TEST_P(counters_on_signal, threads_count_together) {
  const outcome ended = start({"threads"}, {"AMITY_MESSAGE_COUNTERS=1", "AMITY_THREADS=2"}).finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_EQ(rows_of(ended.errors, rank, "int"), (std::vector<columns>{{"2", "2", "2", "8"}})) << ended.errors;
  }
}

TEST(counters_of_many_ranks, first_ranks_are_shown) {
  const outcome ended = child({PROGRAM, "counters", "usr1"},
                              {.environment = {"AMITY_MESSAGE_COUNTERS=1", "AMITY_FABRIC=sim", "AMITY_RANKS=100"}})
                            .finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(rows_of(ended.errors, 63, "int"), std::vector<columns>{ints});
  EXPECT_TRUE(rows_of(ended.errors, 64, "int").empty());
  EXPECT_PRED2(contains, ended.errors, "amity: counters of 64 of 100 ranks are shown\n");
}

}  // namespace
}  // namespace amity
