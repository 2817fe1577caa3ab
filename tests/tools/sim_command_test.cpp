// amity sim: what programs start with, networks and faults by name, and the first seed that fails.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "child.hpp"

namespace amity::tests {
namespace {

outcome sim(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), "sim");
  return child(amity_command(std::move(arguments)), {.environment = std::move(environment)}).finish();
}

/// What a program sees of a setting.
std::string seen(const std::string& setting, std::vector<std::string> options,
                 std::vector<std::string> environment = {}) {
  for (const std::string& word : {std::string("sh"), std::string("-c"), "echo $" + setting}) options.push_back(word);
  const auto ended = sim(std::move(options), std::move(environment));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  return ended.output.substr(0, ended.output.find('\n'));
}

TEST(sim_command, runs_all_ranks_in_one_process) {
  const auto ended = sim({"-n", "300", WORLD_PROGRAM, "sum"});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "rank 299 of 300: sum 44850\n");
}

TEST(sim_command, returns_the_status_of_the_program) {
  EXPECT_EQ(sim({"-n", "4", WORLD_PROGRAM, "status"}).status, 9);
  EXPECT_EQ(sim({"./there/is/none"}).status, 127);
}

TEST(sim_command, gives_the_program_what_it_was_asked_for) {
  EXPECT_EQ(seen("AMITY_FABRIC", {}, {"AMITY_FABRIC=shm"}), "sim");
  EXPECT_EQ(seen("AMITY_RANKS", {"-n", "12"}), "12");
  EXPECT_EQ(seen("AMITY_THREADS", {"-t", "2"}), "2");
  EXPECT_EQ(seen("AMITY_SIM_SEED", {"--seed", "77"}), "77");
  EXPECT_EQ(seen("AMITY_SIM_HANDLER_NS", {"--handler", "2us"}), "2us");
  EXPECT_EQ(
      seen("AMITY_SIM_HANDLERS_NS", {"--handler", "a::b=2us", "--handler", "c=1us"}, {"AMITY_SIM_HANDLERS_NS=d=7"}),
      "d=7;a::b=2us;c=1us");
  EXPECT_EQ(seen("AMITY_SIM_COMPUTE_PERCENT", {"--measured"}), "100");
  EXPECT_EQ(seen("AMITY_SIM_REPORT", {"--report", "table"}), "table");
}

TEST(sim_command, knows_networks_by_name) {
  for (const std::string network : {"hpc", "aries", "sdr", "qdr", "ethernet25", "wan"}) {
    const auto ended = sim({"-n", "3", "--network", network, WORLD_PROGRAM, "sum"});
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.errors, "");
  }
  EXPECT_EQ(seen("AMITY_SIM_BYTE_PS", {"--network", "aries"}), "104");
  EXPECT_EQ(seen("AMITY_SIM_BYTE_PS", {"--network", "aries"}, {"AMITY_SIM_BYTE_PS=7"}), "7");
  expect_failure(sim({"--network", "arise", "true"}),
                 "there is no network 'arise'; give one of aries, ethernet25, hpc, qdr, sdr, wan");
  EXPECT_PRED2(contains, sim({"--network", "", "true"}).errors, "there is no network ''");
}

TEST(sim_command, says_in_which_line_of_a_network_file_the_mistake_is) {
  const std::string path = fmt::format("{}amity_sim_command_{}.network", ::testing::TempDir(), ::getpid());
  const auto problem = [&](const std::string& text) {
    std::ofstream(path) << text;
    return sim({"--network", path, "true"}).errors;
  };
  EXPECT_PRED2(contains, problem("# costs\nlatency_ns = 5us\nlatency = 3\n"), path + ":3: a network has no latency");
  EXPECT_PRED2(contains, problem("latency_ns\n"), path + ":1: 'latency_ns' is no line");
  EXPECT_PRED2(contains, problem(" = 5\n"), path + ":1: '= 5' is no line");
  EXPECT_PRED2(contains, problem("credits = 0\n"), path + ":1: credits = 0; ");
  EXPECT_PRED2(contains, problem("credits = 0\n"), "give a whole number from 1 to 65536");
  EXPECT_PRED2(contains, problem("handler_ns.edge = slow\n"), path + ":1: handler_ns.edge = slow; name a message type");
  EXPECT_PRED2(contains, problem("handler_ns. = 5\n"), path + ":1: handler_ns. = 5; name a message type");
  std::ofstream(path)
      << "handler_ns.unsigned long = 2us  # of one type\nhandler_ns.edge = 7\nhandler_byte_ps.edge = 60\n";
  EXPECT_EQ(seen("AMITY_SIM_HANDLERS_NS", {"--network", path}), "unsigned long=2us;edge=7");
  EXPECT_EQ(seen("AMITY_SIM_HANDLERS_NS", {"--network", path}, {"AMITY_SIM_HANDLERS_NS=edge=1"}), "edge=1");
  EXPECT_EQ(seen("AMITY_SIM_HANDLERS_BYTE_PS", {"--network", path}), "edge=60");
  EXPECT_EQ(problem(""), "");
  EXPECT_EQ(problem("# nothing\n"), "");
  std::filesystem::remove(path);
  for (const std::string& none : {path, std::string("./")}) {
    EXPECT_PRED2(contains, sim({"--network", none, "true"}).errors, "cannot read " + none);
  }
}

TEST(sim_command, names_faults) {
  EXPECT_EQ(seen("AMITY_SIM_DELAY_NS_MAX", {"--fault", "delay=2us"}), "2us");
  EXPECT_EQ(seen("AMITY_SIM_REORDER_PERCENT", {"--fault", "reorder=5%"}), "5%");
  EXPECT_EQ(seen("AMITY_SIM_BACK_PRESSURE_PERCENT", {"--fault", "back-pressure=5%"}), "5%");
  EXPECT_EQ(seen("AMITY_SIM_FAULTS", {"--fault", "slow:rank=1,factor=2", "--fault", "kill:rank=0,at=1ms"}),
            "slow:rank=1,factor=2;kill:rank=0,at=1ms");
  EXPECT_PRED2(contains, sim({"--fault", "delya=2us", "true"}).errors, "unknown fault: --fault delya=2us");
  EXPECT_PRED2(contains, sim({"--fault", "reorder", "true"}).errors, "--fault reorder has no value");

  expect_failure(sim({"-n", "4", "--fault", "kill:rank=2,at=1us", WORLD_PROGRAM, "sum"}), "rank 2 has vanished");
}

TEST(sim_command, says_which_seeds_there_are) {
  EXPECT_EQ(seen("AMITY_SIM_SEED", {"--seed", "0"}), "0");
  EXPECT_EQ(seen("AMITY_SIM_SEED", {"--seed", "9223372036854775807"}), "9223372036854775807");
  for (const std::string seed : {"-3", "9223372036854775808", "99999999999999999999999"}) {
    const auto refused = sim({"--seed", seed, "true"});
    EXPECT_NE(refused.status, 0);
    EXPECT_PRED2(contains, refused.errors, "AMITY_SIM_SEED=" + seed + " is too ");
    EXPECT_PRED2(contains, refused.errors, "give a whole number from 0 to 9223372036854775807");
  }
  EXPECT_PRED2(contains, sim({"--seed", "", "true"}).errors, "AMITY_SIM_SEED= is ");
  for (const std::string seeds : {"0", "-1", "99999999999999999999999"}) {
    const auto refused = sim({"--explore", seeds, "true"});
    EXPECT_NE(refused.status, 0);
    EXPECT_PRED2(contains, refused.errors, "--explore: Value " + seeds + " not in range 1 to 9223372036854775807\n");
  }
  EXPECT_PRED2(contains, sim({"--seed", "9223372036854775807", "--explore", "2", "true"}).errors,
               "--explore 2 from seed 9223372036854775807 on; the last seed is 9223372036854775807");
}

const std::string fails_from_5_on =
    "[ $AMITY_SIM_SEED -lt 5 ] || { echo broken $AMITY_SIM_SEED; exit 3; }; exec " WORLD_PROGRAM " sum";

TEST(sim_explore, finds_the_first_seed_that_fails) {
  for (const std::string jobs : {"1", "3"}) {
    const auto ended =
        sim({"-n", "4", "--network", "aries", "--explore", "20", "--jobs", jobs, "sh", "-c", fails_from_5_on},
            {"AMITY_SIM_CREDITS=9"});
    EXPECT_EQ(ended.status, 3);
    EXPECT_PRED2(contains, ended.output, "seed 5 fails with status 3; the 4 seeds before it succeed");
    EXPECT_PRED2(contains, ended.output, "\nbroken 5\n");
    EXPECT_PRED2(contains, ended.output,
                 "\nreplay: AMITY_SIM_CREDITS=9 amity sim -n 4 --seed 5 --network aries sh -c '[ $AMITY_SIM_SEED");
  }
}

TEST(sim_explore, is_asked_for_by_who_says_how_to_explore) {
  for (const std::string option : {"--jobs", "--timeout"}) {
    expect_failure(sim({option, "2", "true"}), option + " requires --explore", 2);
  }
}

TEST(sim_explore, succeeds_where_all_seeds_do) {
  const auto ended = sim({"-n", "4", "--explore", "4", WORLD_PROGRAM, "sum"});
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_PRED2(contains, ended.output,
               "no random faults are set, so all seeds would give the same run; adding --fault delay=6000ns");
  EXPECT_PRED2(contains, ended.output, "all 4 seeds succeed, 1 to 4");
}

TEST(sim_explore, names_the_signal_and_the_seed_to_begin_with) {
  const auto ended = sim({"--seed", "8", "--explore", "4", "--network", "wan", "sh", "-c", "kill -9 $$"});
  EXPECT_EQ(ended.status, 137);
  EXPECT_PRED2(contains, ended.output, "seed 8 fails with status 137; the 0 seeds before it succeed");
}

/// An exploration whose runs start a process that outlives them, and the first such process.
class exploration_of_sleepers {
 public:
  explicit exploration_of_sleepers(const std::string& seconds)
      : started_(::testing::TempDir() + "amity_sleeper_" + std::to_string(::getpid())),
        command_(amity_command({"sim", "-n", "2", "--explore", "1", "--timeout", seconds, "sh", "-c",
                                "sleep 600 & echo $! > " + started_ + "; wait"})),
        sleeper_(read_number()) {}
  ~exploration_of_sleepers() { std::filesystem::remove(started_); }

  child& command() { return command_; }
  bool sleeper_ends() const { return sleeper_.ends(); }

 private:
  pid_t read_number() const {
    pid_t number = 0;
    for (int look = 0; look < 30'000 && number == 0; ++look) {
      ::usleep(1000);
      std::ifstream(started_) >> number;
    }
    if (number == 0) throw std::runtime_error("no run has begun");
    return number;
  }

  std::string started_;  ///< the file with its number
  child command_;
  process_watch sleeper_;
};

TEST(sim_explore, leaves_nothing_of_a_run_that_takes_too_long) {
  exploration_of_sleepers exploring("2");
  EXPECT_PRED2(contains, exploring.command().finish().output, "seed 1 fails to end within 2 s");
  EXPECT_TRUE(exploring.sleeper_ends());
}

TEST(sim_explore, leaves_nothing_when_a_signal_ends_it) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::signal(number, SIG_DFL);  // whoever runs the tests may have them ignored
    exploration_of_sleepers exploring("600");
    exploring.command().signal(number);
    EXPECT_EQ(exploring.command().finish().status, -number);
    EXPECT_TRUE(exploring.sleeper_ends());
  }
}

TEST(sim_explore, replays_with_what_the_environment_and_the_options_say) {
  const auto ended = sim({"-n", "2", "--fault", "slow:rank=0,factor=2", "--fault", "reorder=1%", "--handler",
                          "long int=2us", "--explore", "2", "false"},
                         {"AMITY_SIM_FAULTS=slow:rank=1,factor=3"});
  EXPECT_PRED2(contains, ended.output,
               "\nreplay: AMITY_SIM_FAULTS=slow:rank=1,factor=3 amity sim -n 2 --seed 1 --fault slow:rank=0,factor=2 "
               "--fault reorder=1% --handler 'long int=2us' false\n");
}

TEST(sim_explore, is_not_for_reports_and_traces_of_the_environment_either) {
  for (const std::string asked : {"AMITY_SIM_REPORT=table", "AMITY_SIM_TRACE=trace.json"}) {
    EXPECT_PRED2(contains, sim({"--explore", "2", "true"}, {asked}).errors, "--explore makes many runs");
  }
}

TEST(sim_explore, delays_no_longer_than_can_be_asked_for) {
  const auto ended = sim({"-n", "2", "--explore", "1", WORLD_PROGRAM, "sum"}, {"AMITY_SIM_LATENCY_NS=400ms"});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "adding --fault delay=1000000000ns");
}

TEST(sim_explore, takes_no_run_for_a_success_that_has_simulated_nothing_to_its_end) {
  using words = std::vector<std::string>;
  for (words line : {words{"true"}, words{WORLD_PROGRAM, "_exit"}}) {
    line.insert(line.begin(), {"-n", "3", "--explore", "2"});
    const auto ended = sim(line);
    EXPECT_EQ(ended.status, 1);
    EXPECT_PRED2(contains, ended.output, "seed 1 ends with status 0 without a completed simulated job");
    EXPECT_PRED2(contains, ended.output, "replay: amity sim -n 3 --seed 1");
  }
}

TEST(sim_explore, runs_no_seed_of_a_program_that_cannot_be_started) {
  const auto ended = sim({"-n", "2", "--explore", "5", "./there/is/none"});
  EXPECT_EQ(ended.status, 127);
  EXPECT_PRED2(contains, ended.errors, "amity: sim: cannot start ./there/is/none: No such file or directory");
  EXPECT_EQ(ended.output.find("fails with"), std::string::npos) << ended.output;
  EXPECT_EQ(sim({"-n", "2", "--explore", "5", "/"}).status, 126);
}

// The flag overtakes the put only with the protocol `rma`.
TEST(sim_explore, varies_the_protocol_of_windows) {
  const std::vector<std::string> words{"-n",        "2",  "--fault",     "put-delay=20us",
                                       "--explore", "40", WORLD_PROGRAM, "flag"};
  const auto found = sim(words);
  EXPECT_EQ(found.status, 1) << found.output;
  EXPECT_PRED2(contains, found.output, "replay: AMITY_WINDOW_PROTOCOL=rma amity sim -n 2 --seed ");
  EXPECT_EQ(sim(words, {"AMITY_WINDOW_PROTOCOL=buffered"}).status, 0);
}

TEST(sim_explore, takes_a_deadlock_for_a_failure) {
  const auto ended = sim({"-n", "3", "--explore", "2", WORLD_PROGRAM, "deadlock"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_PRED2(contains, ended.output, "deadlock with seed 1");
}

}  // namespace
}  // namespace amity::tests
