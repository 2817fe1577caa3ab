#pragma once

/// One rank of a simulated job: its clock, its inbox, its credits, its fiber.
///
/// A rank runs ahead of the others on its own clock until it asks a question whose answer they could still change: no
/// packet can reach it before the engine's `horizon`, the shortest latency after the earliest time at which another
/// rank goes on. `poll` hands over what arrives before the horizon and lets the others catch up before it says that
/// there is nothing; `sleep` suspends the fiber unless it ends before the horizon. So every rank meets its packets in
/// the order and at the times of the one virtual clock, at much fewer switches than one an event.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/sim/credits.hpp"
#include "amity/fabric/sim/fiber.hpp"
#include "amity/fabric/sim/parcels.hpp"
#include "amity/fabric/sim/remote_port.hpp"
#include "amity/fabric/sim/schedule.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity::fabric::sim {

class engine;

class alignas(cache_line_bytes) port final : public fabric {
 public:
  port(engine& job, rank_t rank, stack_pool& stacks, fiber::body run);

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override;
  const capabilities& caps() const noexcept override;
  rank_t node_of(rank_t peer) const noexcept override;
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override;
  status acquire(rank_t dest, slot& out, claim of) noexcept override;
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override;
  void release(std::uint64_t token) noexcept override;
  std::size_t poll(sink& receiver, std::size_t packets_max) override;
  void check() override;
  bool ready() override;
  void publish() override {}
  alarm arm() override;
  void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept override;
  void disarm() noexcept override {}
  remote_memory* remote() noexcept override { return &remote_; }
  std::uint64_t now_ns() const noexcept override { return clock_ns_; }
  void set_whereabouts(const whereabouts* known) noexcept override { whereabouts_ = known; }
  void abort() noexcept override;

  // For the engine.

  fiber& flow() noexcept { return flow_; }
  /// Who polls.
  const sink* receiver() const noexcept { return sink_; }
  bool waiting() const noexcept { return waiting_; }
  bool aborted() const noexcept { return last_ns_ <= clock_ns_ && abort_ns_ <= clock_ns_; }
  bool killed() const noexcept { return dead_; }
  rank_figures figures() const noexcept;
  std::uint64_t trace_hash() const noexcept { return trace_hash_; }

  /// Where the waiting rank is, as far as it says so.
  std::string place() const { return whereabouts_ == nullptr ? std::string() : whereabouts_->place(); }

  /// The peer whose credit a waiting rank needs, or -1.
  rank_t refused_by() const noexcept;

  /// What the rank does from now on it computes, until it calls the fabric.
  void begin_to_compute() noexcept;

  /// The job ends at `time_ns` for this rank: its first `wait` from then on throws.
  void abort_at(std::uint64_t time_ns) noexcept;

  /// Another rank was killed: the first wait of this one from `time_ns` on throws an error that names it.
  void will_miss(rank_t killed, std::uint64_t time_ns) noexcept;

  /// `peer` has used a segment that this rank has destroyed: the next wait of this one throws an error that says so.
  void blame(rank_t peer) noexcept;

  /// A rank whose time has come is dead from now on. Those that wait or poll find out by themselves.
  void fall_if_killed() noexcept;

  /// A rank that was killed goes on, to unwind its stack.
  void unwind() noexcept { resume_by(clock_ns_); }

  /// Why peers do not answer, as far as faults are the reason.
  std::string trouble() const override;

  /// A packet of another rank, or of this one, arrives at its `time_ns`.
  void arrive(parcel_id id) noexcept;

  /// What `number` names, a parcel or the step of an operation, comes about here at `time_ns`.
  void comes_about(std::uint64_t time_ns, std::uint32_t number) noexcept;

  /// A credit for packets to `from` comes back at `time_ns`.
  void credit_returns(rank_t from, std::uint64_t time_ns) noexcept;

 private:
  friend remote_port;  // one rank, one clock, one wire

  struct arrival {
    std::uint64_t time_ns;
    std::uint32_t order;   // of arrival in the inbox, for packets of one time; differences fit in half its range
    std::uint32_t number;  // of a parcel, or an `operation_step`
  };

  struct later {  // the heap algorithms keep the greatest in front; here the earliest belongs there
    bool operator()(const arrival& a, const arrival& b) const noexcept {
      if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
      return static_cast<std::int32_t>(a.order - b.order) > 0;
    }
  };

  /// While it lives, the rank is inside the fabric: what it has computed since it was there last passes on its clock.
  class inside : private immovable {
   public:
    explicit inside(port& rank) noexcept : rank_(rank) { rank_.pass_computed_time(); }
    ~inside() { rank_.begin_to_compute(); }

   private:
    port& rank_;
  };
  void pass_computed_time() noexcept;

  /// Work takes its time and that of the stops that interrupt it. It is booked as `kind`.
  void work(std::uint64_t& kind, std::uint64_t ns) noexcept {
    if (clock_ns_ + ns < break_ns_) [[likely]] {
      clock_ns_ += ns;
      kind += ns;
    } else {
      work_through_breaks(kind, ns);
    }
  }
  void spend_on_network(std::uint64_t ns) noexcept { work(booked_.network_ns, ns); }
  void compute(std::uint64_t ns) noexcept { work(booked_.busy_ns, ns); }
  /// Time that passes without being booked is waiting.
  void advance_to(std::uint64_t time_ns) noexcept {  // not a time before the clock
    if (time_ns < break_ns_) [[likely]]
      clock_ns_ = time_ns;
    else
      wait_through_breaks(time_ns);
  }
  void idle(std::uint64_t ns) noexcept { advance_to(clock_ns_ + ns); }
  void work_through_breaks(std::uint64_t& kind, std::uint64_t ns) noexcept;
  void wait_through_breaks(std::uint64_t time_ns) noexcept;
  void pass_break() noexcept;
  void find_next_break() noexcept;
  /// When the rank dies, until its clock has got there.
  std::uint64_t death_ns() const noexcept { return at_death_ ? never : kill_ns_; }
  void die_if_killed() {
    if (clock_ns_ >= last_ns_ && clock_ns_ >= kill_ns_) [[unlikely]]
      die();
  }
  [[noreturn]] void die();
  void receive(std::uint64_t due_ns, std::uint64_t handling_ns) noexcept;
  std::uint64_t handling_ns(std::uint64_t header, std::size_t bytes) const noexcept;

  std::uint64_t latency_ns(rank_t peer) const noexcept;
  bool take_credit(rank_t dest, claim of) noexcept;
  /// Not before what came earlier.
  static std::uint64_t keep_order(rank_map<std::uint64_t>& last_ns, rank_t peer, std::uint64_t time_ns);
  void forget_arrived_credits() noexcept;
  parcel& parcel_of(parcel_id id, parcel_state expected) noexcept;

  parcel_id open(rank_t target, std::size_t bytes) noexcept;
  void send(parcel_id id) noexcept;
  std::uint64_t leave(std::size_t payload_bytes) noexcept;
  std::uint64_t arrival_ns(rank_t target, std::size_t payload_bytes) noexcept;
  bool hand_over(sink& receiver);
  void trace(std::uint64_t header, std::size_t bytes, rank_t source) noexcept;
  void give_back(parcel_id id) noexcept;
  std::uint64_t next_arrival_ns() noexcept;
  void let_others_catch_up() noexcept;
  void check_job_ended() {
    if (clock_ns_ >= last_ns_) [[unlikely]]
      end();
  }
  std::uint64_t next_event_ns() noexcept;
  /// `ready` or `sleep` reports all events so far.
  void note_events() noexcept;
  void end();
  void sleep_until(std::uint64_t wake_ns) noexcept;
  /// What comes for the dead wakes nobody.
  void wake_by(std::uint64_t time_ns) noexcept {
    if (!dead_) resume_by(time_ns);
  }
  void resume_by(std::uint64_t time_ns) noexcept;
  /// Whether what begins to leave at this time is that of a rank that is killed by then.
  bool is_of_the_dead(std::uint64_t begin_ns) const noexcept { return begin_ns >= last_ns_ && begin_ns >= kill_ns_; }

  // What other ranks look at when they send here, together on one cache line.
  std::vector<arrival> inbox_;     // a heap, and behind it what arrived since it was last looked at
  std::uint64_t wake_ns_ = never;  // while waiting: when the wait ends, as far as is known
  std::uint64_t clock_ns_ = 0;
  const rank_t rank_;
  std::uint32_t arrivals_ = 0;
  bool waiting_ = false;
  bool dead_ = false;

  alignas(cache_line_bytes) credits credits_;  // what ranks touch that release packets of this one

  engine& job_;
  fiber flow_;
  const sink* sink_ = nullptr;

  std::size_t heaped_ = 0;           // size of the heap in the inbox
  std::uint64_t wire_free_ns_ = 0;   // when the next packet can leave
  std::uint64_t break_ns_ = never;   // the next stop, inside of which the clock never stands, or the rank's death
  std::uint64_t credit_ns_ = never;  // no credit of a peer in `refused_` arrives before
  std::uint64_t last_ns_ = never;    // from then on a wait throws: the first of the three at the end
  std::uint64_t trace_hash_ = 0;

  // This rank's costs.
  std::uint64_t overhead_ns_;
  std::uint64_t gap_ns_;
  std::uint64_t byte_ps_;
  std::uint64_t poll_ns_;
  std::uint64_t factor_;  // by which handlers take longer than modelled
  std::uint64_t compute_percent_;
  std::uint64_t compute_since_ns_ = 0;  // processor time at which it left the fabric

  /// What `rank_figures` tells, of which the rest follows.
  struct {
    std::uint64_t busy_ns = 0;
    std::uint64_t network_ns = 0;
    std::uint64_t stopped_ns = 0;
    std::uint64_t sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t received = 0;
    std::uint64_t flight_ns = 0;
    std::uint64_t late_ns = 0;
  } booked_;

  remote_port remote_;

  // By peer, where delays are random: when the last packet arrives there, and the last credit of a packet from there.
  rank_map<std::uint64_t> last_arrivals_ns_;
  rank_map<std::uint64_t> last_credits_ns_;

  // Hardly ever looked at.
  const whereabouts* whereabouts_ = nullptr;
  std::vector<stopped_rank> stops_;  // the next one last
  std::uint64_t abort_ns_ = never;
  std::uint64_t kill_ns_ = never;
  std::uint64_t kill_notice_ns_ = 0;
  std::uint64_t miss_ns_ = never;  // when this rank notices that `missed_` is gone
  rank_t missed_ = no_rank;
  rank_t blamed_ = no_rank;
  std::unique_ptr<const rank_figures> at_death_;
};

}  // namespace amity::fabric::sim
