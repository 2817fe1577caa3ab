#pragma once

/// A job that runs: its ranks, what they share, and the verdict on them.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/launch.hpp"
#include "amity/world/launch/descriptor_group.hpp"
#include "amity/world/launch/input_relay.hpp"
#include "amity/world/launch/launch_guard.hpp"
#include "amity/world/launch/line_merger.hpp"
#include "amity/world/launch/output_target.hpp"
#include "amity/world/launch/poll_set.hpp"
#include "amity/world/launch/rank_process.hpp"
#include "amity/world/launch/rank_starter.hpp"
#include "amity/world/launch/signal_inbox.hpp"

namespace amity::detail {

/// The processes that still run when it ends are killed. The cost of an event, such as the end of a rank or a signal,
/// does not grow with the number of ranks.
class job : private immovable {
 public:
  /// Throws `error` if the system refuses something. `options` must outlive the object.
  explicit job(const launch_options& options);

  /// Starts the ranks, and watches them until all have ended; returns the exit status of the job. If the job fails
  /// while ranks are started, the others are not started. Once. Throws `program_not_started`, and `error` if the system
  /// refuses something.
  int run();

 private:
  using clock = std::chrono::steady_clock;

  /// From the first failure on: the ranks may leave in good order, then they are told to, then they are made to.
  enum class stage { running, leaving, told_to_end, killed };

  struct verdict {
    int status;
    std::string text;
  };

  void start_ranks();
  void start_rank(rank_starter& starter);

  rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
  /// Of a rank's first thread, which stands for all.
  fabric::shm::rank_state state_of(rank_t rank) const noexcept { return memory_.state(rank * threads_); }
  rank_process& process_of(rank_t rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  const rank_process& process_of(rank_t rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  bool anyone_runs() const noexcept { return running_ > 0; }
  rank_t deserter() noexcept;
  rank_t culprit() const noexcept;
  std::string name_of(rank_t rank) const;
  std::optional<clock::duration> time_to_sleep();
  bool wait_for_events(std::optional<clock::duration> limit);

  void take_write_failures();
  void write_failed(std::string_view stream, int reason);
  void take_signals();
  void interrupt(int signal);
  std::vector<rank_t> take_ended_ranks();
  void take_ends();
  void look_for_waiting_ranks();
  void rank_ended(rank_t rank);
  std::optional<verdict> judge(rank_t rank) const;
  void settle(const verdict& found, std::string_view victims = "the other ranks");
  void settle_success();

  void ask_to_leave();
  void let_leave(clock::duration time);
  void tell_to_end(int signal, clock::duration time);
  void kill();
  void advance();
  void signal_all(int signal) const noexcept;

  const launch_options& options_;
  rank_t threads_;        ///< each rank's, which are ranks of the memory
  bool has_descriptors_;  ///< of processes
  fabric::shm::job_memory memory_;
  signal_inbox signals_;
  output_target output_target_;
  output_target error_target_;
  line_merger output_;
  line_merger errors_;
  std::optional<input_relay> input_;
  std::vector<rank_process> ranks_;  ///< started ranks
  rank_t running_ = 0;
  descriptor_group ends_;  ///< of the processes that run, by rank
  bool child_signal_ = false;
  std::vector<rank_t> absent_ends_;  ///< ranks that ended well without having joined the job
  clock::time_point next_look_{};    ///< for ranks that wait for one of these
  launch_guard guard_;               ///< after the ranks, so that it ends before they are reaped

  stage stage_ = stage::running;
  clock::time_point stage_end_{};
  std::optional<verdict> first_failure_;  ///< what happened first; not the cause if a rank has aborted the job
  bool settled_ = false;
  bool has_succeeded_ = false;  ///< a rank has ended the job with status 0
  int status_ = 0;
  int interrupts_ = 0;
};

}  // namespace amity::detail
