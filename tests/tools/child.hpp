#pragma once

/// A command that a test starts, talks to, and outlives.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/file_descriptor.hpp"

namespace amity::tests {

/// How a command ended and what it printed.
struct outcome {
  int status;                    ///< exit status, or -signal
  std::string output;            ///< standard output, and standard error too on a terminal
  std::string errors;            ///< standard error
  double cpu_seconds;            ///< of the command and of the processes for which it waited
  std::size_t memory_bytes_max;  ///< of the largest of these processes
};

struct child_options {
  std::vector<std::string> environment;  ///< "NAME=VALUE": in place of the test's own AMITY_* variables
  bool terminal = false;                 ///< gives it a terminal of its own, in whose foreground it runs
};

/// Runs from construction on. Whatever takes longer than a generous time limit is killed, and the test fails.
class child {
 public:
  explicit child(std::vector<std::string> command, const child_options& options = {});
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child();

  pid_t pid() const noexcept { return pid_; }

  void type(const std::string& text);
  void close_input();
  void signal(int number) const;

  /// The first `count` lines of standard output, as soon as they are there.
  std::vector<std::string> wait_for_lines(std::size_t count);

  /// Waits until standard error contains `part`, and returns what it has printed so far.
  const std::string& wait_for_errors(const std::string& part);

  /// Waits until a signal has stopped the command.
  void wait_until_stopped() const;

  /// Closes the input, and waits until the command has ended and nobody can write to its output any more.
  outcome finish();

 private:
  bool read_more();

  pid_t pid_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point deadline_;
  file_descriptor input_, output_, errors_;
  outcome outcome_{};
};

/// `amity ARGUMENTS...` from this build.
std::vector<std::string> amity_command(std::vector<std::string> arguments);

/// `amity run -n RANKS rank_program WHAT...` from this build.
std::vector<std::string> run_ranks(int ranks, std::vector<std::string> what);

/// Waits until a process, known by its number only, has ended; false if it still runs after a generous time. Make
/// one while the process is sure to exist.
class process_watch {
 public:
  explicit process_watch(pid_t process);
  bool ends() const;

 private:
  file_descriptor fd_;
};

/// The number at the end of each line.
std::vector<pid_t> processes_in(const std::vector<std::string>& lines);

/// Watches over the processes at the ends of lines, all of which should end.
class watches {
 public:
  explicit watches(const std::vector<std::string>& lines);
  bool all_end() const;

 private:
  std::vector<process_watch> watches_;
};

/// A fabric and a number of ranks, by which tests are named.
struct fabric_job {
  std::string fabric;
  int ranks;
};
void PrintTo(const fabric_job& what, std::ostream* out);
std::string job_name(const ::testing::TestParamInfo<fabric_job>& info);

bool contains(const std::string& text, const std::string& part);

/// `problem` is a part of standard error.
void expect_failure(const outcome& ended, const std::string& problem, int status = 1);

}  // namespace amity::tests
