#pragma once

/// The job that a simulation runs: its ranks, the order in which they go on, and what they share.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/sim/fiber.hpp"
#include "amity/fabric/sim/operations.hpp"
#include "amity/fabric/sim/parcels.hpp"
#include "amity/fabric/sim/port.hpp"
#include "amity/fabric/sim/port_array.hpp"
#include "amity/fabric/sim/schedule.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/sim/trace_file.hpp"

namespace amity::fabric::sim {

class engine {
 public:
  /// The options have been checked; they and `main` outlive the engine.
  engine(rank_t ranks, const sim_options& options, const rank_main& main);

  /// Runs all ranks to their ends; see `sim::run`. Once.
  sim_result run();

  // For the ranks.

  const sim_options& options() const noexcept { return options_; }
  const capabilities& caps() const noexcept { return caps_; }
  rank_t ranks() const noexcept { return ports_.size(); }
  port& at(rank_t rank) noexcept { return ports_[rank]; }
  void will_touch(rank_t rank) noexcept { __builtin_prefetch(&ports_[rank], 1); }
  parcel_pool& parcels() noexcept { return parcels_; }
  operation_pool& operations() noexcept { return operations_; }
  segment_table& segments() noexcept { return segments_; }
  splitmix64& random() noexcept { return random_; }

  /// No packet and no credit that is not on its way yet arrives at the running rank before this time.
  std::uint64_t horizon_ns() const noexcept { return std::min(schedule_.earliest() + lookahead_ns_, never); }

  /// The rank goes on at `time_ns`, or sooner if it was already known to.
  void wake(rank_t rank, std::uint64_t time_ns) noexcept { schedule_.wake(rank, time_ns); }

  /// Suspends the running rank until its turn has come; it must have a time to wake or wait for one.
  void suspend(port& running) noexcept;

  /// Ends the job for all ranks, `from` at once and the others as soon as the news can have reached them.
  void abort(const port& from) noexcept;

  /// `gone` was killed: the others notice at `notice_ns`, and the job goes on without it until then.
  void lose(const port& gone, std::uint64_t notice_ns) noexcept;
  /// The error of a job that has lost `gone`, as `observer` sees it.
  error loss_of(rank_t gone, rank_t observer) const;

  /// When the last of the stops that are asked for ends.
  std::uint64_t last_stop_ns() const noexcept { return last_stop_ns_; }

  /// Null: nobody wants one.
  trace_file* trace() noexcept { return trace_.get(); }

  /// What became of each rank, so far.
  std::vector<rank_figures> figures() const;

  /// Some rank has ended the job, though others may not know yet.
  bool aborted() const noexcept { return aborted_; }

  void count_event() noexcept { ++events_; }

  /// Processor time that two looks at the processor's clock are apart at least.
  std::uint64_t clock_cost_ns() const noexcept { return clock_cost_ns_; }

 private:
  /// How the first rank to end in some way did so.
  template <class What>
  struct first {
    std::uint64_t time_ns = never;
    What what{};
    void offer(std::uint64_t at_ns, What other) {
      if (at_ns < time_ns) *this = {at_ns, std::move(other)};
    }
  };

  /// What a suspended rank touches first when it goes on. It was touched long ago, by thousands of ranks' measure.
  struct resting {
    const std::byte* stack;
    const sink* receiver;
  };

  fiber& next() noexcept;
  void warm(rank_t rank) noexcept;
  fiber& run_rank(port& self) noexcept;
  void run_program(port& self) noexcept;
  error deadlock();
  std::string describe_waiting() const;

  const sim_options& options_;
  const rank_main& main_;
  std::uint64_t lookahead_ns_;  // the shortest latency between two ranks
  capabilities caps_;
  splitmix64 random_;
  schedule schedule_;
  parcel_pool parcels_;
  operation_pool operations_;
  segment_table segments_;
  stack_pool stacks_;
  fiber scheduler_;
  port_array ports_;
  std::vector<resting> resting_;
  std::size_t running_ = 0;  // ranks that have not ended
  std::size_t killed_ = 0;   // of these, those that never will of their own accord
  std::uint64_t last_stop_ns_ = 0;
  std::unique_ptr<trace_file> trace_;
  std::uint64_t clock_cost_ns_;
  bool aborted_ = false;

  std::uint64_t events_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t end_ns_ = 0;
  struct ending {
    int status = 0;
    rank_t rank = no_rank;
  };
  first<ending> failed_;
  first<rank_t> lost_;
  first<std::exception_ptr> threw_;
  first<std::exception_ptr> was_aborted_;
  std::exception_ptr deadlock_;
};

}  // namespace amity::fabric::sim
