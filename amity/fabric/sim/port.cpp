#include "amity/fabric/sim/port.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"
#include "amity/fabric/sim/engine.hpp"

namespace amity::fabric::sim {
namespace {

// A token is a parcel and its generation: a token that was released before is not taken for a new one.
std::uint64_t token_of(parcel_id id, const parcel& p) noexcept { return std::uint64_t{p.generation} << 32 | id; }

// Of several for one rank, the largest holds.
std::uint32_t slow_factor(const sim_options& options, rank_t rank) {
  std::uint32_t factor = 1;
  for (const slow_rank& slow : options.slow_ranks) {
    if (slow.rank == rank) factor = std::max(factor, slow.factor);
  }
  return factor;
}

}  // namespace

port::port(engine& job, rank_t rank, stack_pool& stacks, fiber::body run)
    : rank_(rank),
      credits_(static_cast<std::uint32_t>(with_reserve(job.options().credits))),
      job_(job),
      flow_(stacks, std::move(run)),
      remote_(job, *this) {
  const sim_options& options = job.options();
  const std::uint32_t factor = slow_factor(options, rank);
  overhead_ns_ = options.overhead_ns * factor;
  gap_ns_ = options.gap_ns * factor;
  byte_ps_ = options.byte_ps * factor;
  poll_ns_ = options.poll_ns * factor;
  factor_ = factor;
  compute_percent_ = std::uint64_t{options.compute_percent} * factor;

  std::ranges::copy_if(options.stopped_ranks, std::back_inserter(stops_),
                       [&](const stopped_rank& stop) { return stop.rank == rank; });
  std::ranges::sort(stops_, std::ranges::greater{}, &stopped_rank::from_ns);
  for (const killed_rank& killed : options.killed_ranks) {
    if (killed.rank != rank || killed.at_ns >= kill_ns_) continue;
    kill_ns_ = killed.at_ns;
    kill_notice_ns_ = std::max(killed.notice_ns, options.latency_ns);
    last_ns_ = kill_ns_;
  }
  find_next_break();
  advance_to(0);
}

rank_t port::size() const noexcept { return job_.ranks(); }
const capabilities& port::caps() const noexcept { return job_.caps(); }

rank_t port::node_of(rank_t peer) const noexcept {
  AMITY_ASSERT(peer >= 0 && peer < size(), rank_, peer);
  return peer - peer % static_cast<rank_t>(job_.options().node_ranks);
}

// A node of one rank has no wire of its own: what the rank sends itself goes over the network, too.
std::uint64_t port::latency_ns(rank_t peer) const noexcept {
  const sim_options& options = job_.options();
  return options.node_ranks > 1 && node_of(peer) == node_of(rank_) ? options.node_latency_ns : options.latency_ns;
}

void port::work_through_breaks(std::uint64_t& kind, std::uint64_t ns) noexcept {
  for (;;) {
    const std::uint64_t now_ns = std::min(ns, break_ns_ - std::min(break_ns_, clock_ns_));
    clock_ns_ += now_ns;
    kind += now_ns;
    ns -= now_ns;
    if (clock_ns_ < break_ns_) return;
    pass_break();
  }
}

void port::wait_through_breaks(std::uint64_t time_ns) noexcept {
  while (break_ns_ <= time_ns) {
    clock_ns_ = std::max(clock_ns_, break_ns_);
    pass_break();
  }
  clock_ns_ = std::max(clock_ns_, time_ns);
}

// Its figures are those of its life. Whoever lives passes over the stop that begins.
void port::pass_break() noexcept {
  if (clock_ns_ >= death_ns()) {
    at_death_ = std::make_unique<rank_figures>(figures());
  } else {
    const std::uint64_t begin_ns = clock_ns_;
    clock_ns_ = std::max(clock_ns_, std::min(stops_.back().until_ns, death_ns()));
    booked_.stopped_ns += clock_ns_ - begin_ns;
    if (job_.trace() != nullptr) job_.trace()->took({rank_, begin_ns, clock_ns_}, "stopped");
    stops_.pop_back();
  }
  find_next_break();
}

void port::find_next_break() noexcept {
  break_ns_ = std::min(stops_.empty() ? never : stops_.back().from_ns, death_ns());
}

rank_figures port::figures() const noexcept {
  if (at_death_) return *at_death_;
  const rank_t lanes = job_.options().lanes;
  return {.rank = rank_ / lanes,
          .thread = rank_ % lanes,
          .end_ns = clock_ns_,
          .busy_ns = booked_.busy_ns,
          .network_ns = booked_.network_ns,
          .stopped_ns = booked_.stopped_ns,
          .sent = booked_.sent,
          .bytes_sent = booked_.bytes_sent,
          .received = booked_.received,
          .flight_ns = booked_.flight_ns,
          .late_ns = booked_.late_ns};
}

// Computing

void port::pass_computed_time() noexcept {
  if (compute_percent_ == 0) return;
  const std::uint64_t computed_ns = processor_now_ns() - compute_since_ns_;
  const std::uint64_t to_look_ns = job_.clock_cost_ns();
  if (computed_ns > to_look_ns) compute((computed_ns - to_look_ns) * compute_percent_ / 100);
}

void port::begin_to_compute() noexcept {
  if (compute_percent_ != 0) compute_since_ns_ = processor_now_ns();
}

// Sending

status port::try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept {
  const inside here(*this);
  AMITY_ASSERT(payload.size() <= caps().packet_bytes_max, rank_, dest, payload.size());
  if (!take_credit(dest, of)) return status::again;
  const parcel_id id = open(dest, payload.size());
  parcel& p = job_.parcels()[id];
  p.header = header;
  p.bytes = static_cast<std::uint32_t>(payload.size());
  if (!payload.empty()) std::memcpy(p.payload, payload.data(), payload.size());
  send(id);
  return status::ok;
}

status port::acquire(rank_t dest, slot& out, claim of) noexcept {
  const inside here(*this);
  if (!take_credit(dest, of)) return status::again;
  const std::size_t capacity = caps().packet_bytes_max;
  const parcel_id id = open(dest, capacity);
  out = {.data = job_.parcels()[id].payload, .capacity = static_cast<std::uint32_t>(capacity), .id = id};
  return status::ok;
}

void port::commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept {
  const inside here(*this);
  parcel& p = parcel_of(filled.id, parcel_state::filling);
  AMITY_ASSERT(p.source == rank_ && p.target == dest, rank_, p.source, dest, p.target);
  AMITY_ASSERT(payload_bytes <= filled.capacity, rank_, payload_bytes, filled.capacity);
  p.header = header;
  p.bytes = static_cast<std::uint32_t>(payload_bytes);
  job_.parcels().fit(p);
  send(filled.id);
}

parcel_id port::open(rank_t target, std::size_t bytes) noexcept {
  const parcel_id id = job_.parcels().open(bytes);
  parcel& p = job_.parcels()[id];
  p.source = rank_;
  p.target = target;
  return id;
}

void port::send(parcel_id id) noexcept {
  parcel& p = job_.parcels()[id];
  const std::uint64_t begin_ns = clock_ns_;
  booked_.sent += 1;
  booked_.bytes_sent += p.bytes;
  spend_on_network(overhead_ns_);
  p.time_ns = arrival_ns(p.target, p.bytes);
  p.state = parcel_state::in_flight;
  booked_.flight_ns += p.time_ns - clock_ns_;
  if (is_of_the_dead(begin_ns)) [[unlikely]]
    return;  // the dead send nothing; the memory of the packet goes with the job's
  if (job_.trace() != nullptr) [[unlikely]]
    job_.trace()->leaves({rank_, begin_ns, clock_ns_}, "send", p.target, p.bytes, {"packet", token_of(id, p)});
  job_.at(p.target).arrive(id);
}

// Puts bytes on the wire as soon as it is free, and returns when the last of them has left.
std::uint64_t port::leave(std::size_t payload_bytes) noexcept {
  const std::uint64_t transfer_ns = payload_bytes * byte_ps_ / 1000;
  const std::uint64_t leaves_ns = std::max(clock_ns_, wire_free_ns_);
  wire_free_ns_ = leaves_ns + std::max(gap_ns_, transfer_ns);
  return leaves_ns + transfer_ns;
}

std::uint64_t port::arrival_ns(rank_t target, std::size_t payload_bytes) noexcept {
  const sim_options& options = job_.options();
  const std::uint64_t wire_ns = latency_ns(target);
  std::uint64_t at_ns = leave(payload_bytes) + wire_ns;
  if (options.delay_ns_max > 0) at_ns += job_.random().below(options.delay_ns_max);
  if (options.reorder_percent > 0 && job_.random().below(100) < options.reorder_percent) {
    // Held back for as long as a window of later packets takes to leave: these overtake it.
    constexpr std::uint64_t window_packets = 16;
    const std::uint64_t packet_ns = overhead_ns_ + std::max(gap_ns_, payload_bytes * byte_ps_ / 1000);
    return at_ns + job_.random().below(wire_ns + options.delay_ns_max + window_packets * packet_ns);
  }
  // What leaves later arrives later where all is under way for as long.
  if (!options.ordered || (options.delay_ns_max == 0 && options.reorder_percent == 0)) return at_ns;
  return keep_order(last_arrivals_ns_, target, at_ns);
}

// Credits

bool port::take_credit(rank_t dest, claim of) noexcept {
  AMITY_ASSERT(dest >= 0 && dest < size(), rank_, dest);
  job_.will_touch(dest);
  if (credits_.take(dest, of, clock_ns_)) [[likely]]
    return true;
  credit_ns_ = std::min(credit_ns_, credits_.next_ns(dest));
  return false;
}

void port::credit_returns(rank_t from, std::uint64_t time_ns) noexcept {
  if (!credits_.come_back(from, time_ns)) [[likely]]
    return;
  credit_ns_ = std::min(credit_ns_, time_ns);
  wake_by(time_ns);
}

std::uint64_t port::keep_order(rank_map<std::uint64_t>& last_ns, rank_t peer, std::uint64_t time_ns) {
  std::uint64_t& last = last_ns[peer];
  return last = std::max(last, time_ns);
}

// The caller is being told of the credits that have come back: only a new refusal makes it wait for that peer again.
void port::forget_arrived_credits() noexcept {
  if (credit_ns_ <= clock_ns_) credit_ns_ = credits_.forget_refusals(clock_ns_);
}

rank_t port::refused_by() const noexcept { return credits_.refused().empty() ? no_rank : credits_.refused().front(); }

// Receiving

void port::arrive(parcel_id id) noexcept { comes_about(job_.parcels()[id].time_ns, id); }

void port::comes_about(std::uint64_t time_ns, std::uint32_t number) noexcept {
  inbox_.push_back({time_ns, arrivals_++, number});
  wake_by(time_ns);
}

// The heap is built here and not in `arrive`, because a sender that touches it would wait for this rank's cold memory.
std::uint64_t port::next_arrival_ns() noexcept {
  while (heaped_ < inbox_.size()) {
    std::push_heap(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(++heaped_), later{});
  }
  return inbox_.empty() ? never : inbox_.front().time_ns;
}

std::size_t port::poll(sink& receiver, std::size_t packets_max) {
  const inside here(*this);
  sink_ = &receiver;
  std::size_t handed = 0;
  while (handed < packets_max) {
    if (dead_) [[unlikely]] {  // it was told so; while it unwinds, it looks for what threads of its own rank do
      idle(poll_ns_);
      if (clock_ns_ >= job_.horizon_ns()) let_others_catch_up();
      break;
    }
    die_if_killed();
    const std::uint64_t due_ns = next_arrival_ns();
    if (due_ns <= clock_ns_ && due_ns < job_.horizon_ns()) {
      handed += hand_over(receiver);
    } else if (handed > 0) {
      break;
    } else if (clock_ns_ < job_.horizon_ns()) {
      idle(poll_ns_);
      break;
    } else {
      let_others_catch_up();
    }
  }
  return handed;
}

// Returns when the others have done all that this rank may see by now.
void port::let_others_catch_up() noexcept {
  job_.wake(rank_, clock_ns_);
  job_.suspend(*this);
}

// Whether the sink was told of something: of an operation's steps some are the fabric's own.
bool port::hand_over(sink& receiver) {
  const parcel_id id = inbox_.front().number;
  const std::uint64_t due_ns = inbox_.front().time_ns;
  const bool is_packet = !operation_step::is_one(id);
  // One of these is handed over next, and each lies somewhere else in memory.
  for (std::size_t i = 1; i < std::min<std::size_t>(inbox_.size(), 3); ++i) {
    if (!operation_step::is_one(inbox_[i].number)) __builtin_prefetch(&job_.parcels()[inbox_[i].number], 1);
  }
  std::pop_heap(inbox_.begin(), inbox_.end(), later{});
  inbox_.pop_back();
  --heaped_;
  if (!is_packet) return remote_.take(operation_step::of(id), due_ns, receiver);
  parcel& p = job_.parcels()[id];
  __builtin_prefetch(&job_.at(p.source).credits_, 1);
  const std::uint64_t begin_ns = clock_ns_;
  receive(p.time_ns, handling_ns(p.header, p.bytes));
  trace(p.header, p.bytes, p.source);
  p.state = parcel_state::handed;
  const packet arrived{p.header, {p.payload, p.bytes}, p.source, token_of(id, p)};
  begin_to_compute();
  const disposition wanted = receiver.on_packet(arrived);
  pass_computed_time();
  if (job_.trace() != nullptr) [[unlikely]]
    job_.trace()->arrives({rank_, begin_ns, clock_ns_}, "handle", p.source, p.bytes, {"packet", token_of(id, p)});
  if (wanted == disposition::keep) {
    p.state = parcel_state::kept;
  } else {
    give_back(id);
  }
  return true;
}

std::uint64_t port::handling_ns(std::uint64_t header, std::size_t bytes) const noexcept {
  const sim_options& options = job_.options();
  const handling* takes = &options.handler;
  if (options.handler_of) [[unlikely]] {
    if (const handling* const own = options.handler_of(header)) takes = own;
  }
  return factor_ * (takes->ns + bytes * takes->byte_ps / 1000);
}

// What comes in costs its overhead, and what handling it takes.
void port::receive(std::uint64_t due_ns, std::uint64_t handling_ns) noexcept {
  booked_.received += 1;
  booked_.late_ns += clock_ns_ - due_ns;
  spend_on_network(overhead_ns_);
  compute(handling_ns);
}

void port::trace(std::uint64_t header, std::size_t bytes, rank_t source) noexcept {
  trace_hash_ = splitmix64::mix(trace_hash_ ^ (clock_ns_ * 0x9e3779b97f4a7c15u) ^ std::rotl(header, 23) ^
                                (std::uint64_t{bytes} << 32 | static_cast<std::uint32_t>(source)));
  job_.count_event();
}

void port::release(std::uint64_t token) noexcept {
  const auto id = static_cast<parcel_id>(token);
  const parcel& p = parcel_of(id, parcel_state::kept);
  AMITY_ASSERT(p.target == rank_ && token == token_of(id, p), rank_, p.target, token);
  give_back(id);
}

void port::give_back(parcel_id id) noexcept {
  parcel& p = job_.parcels()[id];
  const rank_t source = p.source;
  job_.parcels().drop_payload(p);
  job_.parcels().close(id);
  std::uint64_t back_ns = clock_ns_ + latency_ns(source);
  const sim_options& options = job_.options();
  if (options.back_pressure_percent > 0 && job_.random().below(100) < options.back_pressure_percent) {
    // For as long as it takes to send all that the others of the pair allow.
    back_ns += job_.random().below(options.latency_ns + options.credits * (options.overhead_ns + options.gap_ns) + 1);
  }
  if (options.back_pressure_percent > 0) back_ns = keep_order(last_credits_ns_, source, back_ns);
  job_.at(source).credit_returns(rank_, back_ns);
}

parcel& port::parcel_of(parcel_id id, parcel_state expected) noexcept {
  AMITY_ASSERT(job_.parcels().contains(id), rank_, id);
  parcel& p = job_.parcels()[id];
  AMITY_ASSERT(p.state == expected, rank_, id, static_cast<int>(p.state), static_cast<int>(expected));
  return p;
}

// Waiting

void port::check() {
  const inside here(*this);
  check_job_ended();
}

bool port::ready() {
  const inside here(*this);
  if (next_event_ns() > clock_ns_ && !remote_.has_room_again()) return false;
  // Time passes even for a caller that ignores the event.
  idle(poll_ns_);
  if (clock_ns_ >= job_.horizon_ns()) let_others_catch_up();
  note_events();
  return true;
}

alarm port::arm() {
  check();
  return {};
}

void port::sleep(const alarm&, std::uint64_t timeout_ns) noexcept {
  const inside here(*this);
  std::uint64_t deadline_ns = timeout_ns < never - clock_ns_ ? clock_ns_ + timeout_ns : never;
  // A rank that is stopped may hold up all others: they look up now and then, so that reports of a stall appear.
  constexpr std::uint64_t look_up_ns = 1'000'000'000;
  if (clock_ns_ < job_.last_stop_ns()) deadline_ns = std::min(deadline_ns, clock_ns_ + look_up_ns);
  // The next event may lie behind what the rank has computed since it looked.
  const std::uint64_t wake_ns = std::max(clock_ns_, std::min(deadline_ns, next_event_ns()));
  if (wake_ns < job_.horizon_ns()) {
    advance_to(wake_ns);
  } else {
    sleep_until(wake_ns);
  }
  note_events();
}

std::uint64_t port::next_event_ns() noexcept { return std::min({next_arrival_ns(), credit_ns_, last_ns_}); }

void port::note_events() noexcept {
  if (clock_ns_ >= last_ns_) return;  // the caller hears of the end first
  forget_arrived_credits();
  remote_.forget_room();
}

void port::end() {
  die_if_killed();
  if (aborted()) throw job_aborted("amity: another rank has ended the job");
  last_ns_ = std::min(abort_ns_, kill_ns_);
  miss_ns_ = never;
  if (blamed_ != no_rank) {
    throw error("AMITY_FABRIC=sim", rank_ / job_.options().lanes,
                fmt::format("{} has used a segment that this rank has released", job_.options().name_of(blamed_)),
                "release a segment after a barrier behind its last use");
  }
  throw job_.loss_of(missed_, rank_);
}

// The dead say nothing. Their stacks are unwound when nobody else is left, or the job has ended.
void port::die() {
  if (!dead_) {
    fall_if_killed();
    if (!aborted()) sleep_until(never);
  }
  throw job_aborted("amity: this rank was killed");
}

void port::fall_if_killed() noexcept {
  if (dead_ || clock_ns_ < kill_ns_) return;
  dead_ = true;
  if (job_.trace() != nullptr) job_.trace()->happened(rank_, kill_ns_, "killed");
  job_.lose(*this, kill_ns_ + kill_notice_ns_);
}

void port::will_miss(rank_t killed, std::uint64_t time_ns) noexcept {
  if (time_ns >= miss_ns_) return;
  miss_ns_ = time_ns;
  missed_ = killed;
  last_ns_ = std::min(last_ns_, miss_ns_);
  wake_by(time_ns);
}

void port::blame(rank_t peer) noexcept {
  blamed_ = peer;
  last_ns_ = std::min(last_ns_, clock_ns_);
}

std::string port::trouble() const {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const stopped_rank& stop : job_.options().stopped_ranks) {
    if (stop.from_ns <= clock_ns_ && clock_ns_ < stop.until_ns) {
      add(fmt::format("{} is stopped from {} ns until {} ns", job_.options().name_of(stop.rank), stop.from_ns,
                      stop.until_ns));
    }
  }
  if (const rank_t peer = refused_by(); peer != no_rank)
    add(fmt::format("{} returns no credit", job_.options().name_of(peer)));
  return text;
}

void port::sleep_until(std::uint64_t wake_ns) noexcept {
  waiting_ = true;
  wake_ns_ = wake_ns;
  if (wake_ns < never) job_.wake(rank_, wake_ns);
  job_.suspend(*this);
  waiting_ = false;
  advance_to(wake_ns_);
}

void port::resume_by(std::uint64_t time_ns) noexcept {
  if (!waiting_ || time_ns >= wake_ns_) return;
  wake_ns_ = std::max(time_ns, clock_ns_);
  job_.wake(rank_, wake_ns_);
}

void port::abort() noexcept { job_.abort(*this); }

void port::abort_at(std::uint64_t time_ns) noexcept {
  abort_ns_ = std::min(abort_ns_, time_ns);
  last_ns_ = std::min(last_ns_, abort_ns_);
  resume_by(abort_ns_);
}

}  // namespace amity::fabric::sim
