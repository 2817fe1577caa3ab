#pragma once

/// One rank of a job as a child process of the launcher.

#include <sched.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>

#include "amity/base/file_descriptor.hpp"

namespace amity::detail {

/// How a process has ended.
struct process_end {
  bool by_signal;
  int number;  ///< the signal, or the exit status

  bool well() const noexcept { return !by_signal && number == 0; }
  int exit_status() const noexcept { return by_signal ? 128 + number : number; }
};

/// What a rank starts with. All pointers must stay valid during `rank_process::start` only.
struct rank_start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int guard_fd;      ///< where the rank announces its group to a `launch_guard`
  int inherited_fd;  ///< stays open in the rank under its number
  int input_fd;
  int output_fd;
  int error_fd;
  const cpu_set_t* cpus;  ///< that the rank may use; null: all that the launcher may
  const sigset_t* signal_mask;
};

/// Leader of its own process group; dies when the thread that started it ends. The process is not reaped before the
/// object ends, so that the number of its group stays its own; until then it is a zombie if it has ended.
/// An error of the system before it executes its program names the call that has failed.
class rank_process {
 public:
  /// Starts the process and waits until it executes its program. Returns nothing if the program cannot be executed;
  /// `reason` is then the system's error number. Throws `error` if the system has no process or descriptor left.
  static std::optional<rank_process> start(const rank_start& how, int& reason);

  rank_process(rank_process&& other) noexcept;
  rank_process& operator=(rank_process&&) = delete;

  /// Kills the process if it still runs, and reaps it.
  ~rank_process();

  pid_t pid() const noexcept { return pid_; }

  /// Whether the system gives descriptors of processes. Without them, SIGCHLD announces that one has ended.
  static bool has_descriptors() noexcept;

  /// Becomes readable when the process ends; -1 if the system has no descriptors of processes.
  int fd() const noexcept { return fd_.get(); }

  /// Looks whether the process has ended, without waiting; `end` returns how.
  bool has_ended();

  /// Closes the descriptor, of a process that has ended.
  void close_fd() noexcept { fd_.reset(); }

  const std::optional<process_end>& end() const noexcept { return end_; }

  /// Sends a signal to the process alone, if it has not ended.
  void signal(int number) const noexcept;

  /// Sends a signal to all processes of the group, whether or not the leader has ended.
  void signal_group(int signal) const noexcept;

 private:
  rank_process(pid_t pid, file_descriptor fd) noexcept;

  pid_t pid_;  ///< 0: moved from
  file_descriptor fd_;
  std::optional<process_end> end_;
};

}  // namespace amity::detail
