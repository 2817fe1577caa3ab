#pragma once

/// A job that runs: its ranks, what they share, and the verdict on them.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/launch.hpp"
#include "amity/world/launch/input_relay.hpp"
#include "amity/world/launch/launch_guard.hpp"
#include "amity/world/launch/line_merger.hpp"
#include "amity/world/launch/output_target.hpp"
#include "amity/world/launch/poll_set.hpp"
#include "amity/world/launch/rank_process.hpp"
#include "amity/world/launch/signal_inbox.hpp"

namespace amity::detail {

/// The program could not be executed.
struct program_not_started {
  int reason;  ///< the system's error number
};

/// Starts all ranks when it is made; whatever still runs when it ends is killed.
class job {
 public:
  /// Throws `program_not_started`, and `error` where the system refuses something.
  explicit job(const launch_options& options);
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Watches the ranks until all have ended; returns the exit status of the job. Once.
  int run();

 private:
  using clock = std::chrono::steady_clock;

  /// From the first failure on: the ranks may leave in good order, then they are told to, then they are made to.
  enum class stage { running, leaving, told_to_end, killed };

  struct verdict {
    int status;
    std::string text;
  };

  void start_ranks(const launch_options& options);

  rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
  /// Of a rank's first thread, which stands for all.
  fabric::shm::rank_state state_of(rank_t rank) const noexcept { return memory_.state(rank * threads_); }
  bool anyone_runs() const noexcept;
  rank_t deserter() const noexcept;
  rank_t culprit() const noexcept;
  std::string name_of(rank_t rank) const;
  std::optional<clock::duration> time_to_sleep() const;
  bool wait_for_events(std::optional<clock::duration> limit);

  void take_output();
  void take_write_failures();
  void write_failed(std::string_view stream, int reason);
  void take_signals();
  void interrupt(int signal);
  void take_ends();
  void rank_ended(rank_t rank);
  std::optional<verdict> judge(rank_t rank) const;
  void settle(const verdict& found, std::string_view victims = "the other ranks");

  void ask_to_leave();
  void tell_to_end(int signal, clock::duration time);
  void kill();
  void advance();
  void signal_all(int signal) const noexcept;

  rank_t threads_;  ///< each rank's, which are ranks of the memory
  fabric::shm::job_memory memory_;
  signal_inbox signals_;
  output_target output_target_;
  output_target error_target_;
  line_merger output_;
  line_merger errors_;
  std::optional<input_relay> input_;
  std::vector<rank_process> ranks_;
  launch_guard guard_;  ///< after the ranks, so that it ends before they are reaped

  stage stage_ = stage::running;
  clock::time_point stage_end_{};
  std::optional<verdict> first_failure_;  ///< what happened first; not the cause if a rank has aborted the job
  bool settled_ = false;
  int status_ = 0;
  int interrupts_ = 0;
};

}  // namespace amity::detail
