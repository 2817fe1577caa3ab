#include "amity/fabric/sim/engine.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "amity/base/clock.hpp"

namespace amity::fabric::sim {
namespace {

std::uint64_t measure_clock_cost_ns() {
  std::uint64_t least = never;
  for (int look = 0; look < 100; ++look) {
    const std::uint64_t before_ns = processor_now_ns();
    least = std::min(least, processor_now_ns() - before_ns);
  }
  return least;
}

}  // namespace

engine::engine(rank_t ranks, const sim_options& options, const rank_main& main)
    : options_(options),
      main_(main),
      lookahead_ns_(options.node_ranks > 1 ? std::min(options.latency_ns, options.node_latency_ns)
                                           : options.latency_ns),
      caps_(describe(options)),
      random_(options.seed),
      schedule_(ranks),
      parcels_(options.packet_bytes),
      stacks_(static_cast<std::size_t>(ranks), options.stack_bytes),
      ports_(ranks),
      resting_(static_cast<std::size_t>(ranks)),
      running_(static_cast<std::size_t>(ranks)),
      clock_cost_ns_(options.compute_percent == 0 ? 0 : measure_clock_cost_ns()) {
  if (options.running != nullptr) stacks_.describe(*options.running);
  if (!options.trace.empty()) trace_ = std::make_unique<trace_file>(options, ranks);
  for (const stopped_rank& stop : options.stopped_ranks) last_stop_ns_ = std::max(last_stop_ns_, stop.until_ns);
  for (rank_t rank = 0; rank < ranks; ++rank) {
    ports_.add(*this, rank, stacks_, [this, rank]() -> fiber& { return run_rank(at(rank)); });
    schedule_.wake(rank, at(rank).now_ns());
  }
}

sim_result engine::run() {
  while (running_ > 0) {
    if (schedule_.empty() && running_ == killed_) {
      for (port& p : ports_) {
        if (p.killed()) p.unwind();
      }
    } else if (schedule_.empty()) {
      deadlock_ = std::make_exception_ptr(deadlock());
      aborted_ = true;
      for (port& p : ports_) p.abort_at(p.now_ns());
    }
    scheduler_.switch_to(next());
  }
  if (options_.running != nullptr) *options_.running = {};
  if (deadlock_) std::rethrow_exception(deadlock_);
  if (threw_.what) std::rethrow_exception(threw_.what);
  if (was_aborted_.what && failed_.what.status == 0) std::rethrow_exception(was_aborted_.what);
  // The others had ended before they could miss it.
  if (lost_.time_ns < never && failed_.what.status == 0) throw loss_of(lost_.what, no_rank);

  std::uint64_t hash = options_.seed;
  for (const port& p : ports_) hash = splitmix64::mix(hash ^ p.trace_hash()) + p.now_ns();
  return {.status = failed_.what.status,
          .failed = failed_.what.rank,
          .end_ns = end_ns_,
          .events = events_,
          .switches = switches_,
          .trace_hash = hash,
          .ranks = figures()};
}

std::vector<rank_figures> engine::figures() const {
  std::vector<rank_figures> all;
  all.reserve(static_cast<std::size_t>(ports_.size()));
  for (const port& p : ports_) all.push_back(p.figures());
  return all;
}

fiber& engine::next() noexcept {
  ++switches_;
  if (schedule_.empty()) {
    if (options_.running != nullptr) options_.running->lane = no_rank;
    return scheduler_;
  }
  const rank_t rank = schedule_.pop();
  fiber& flow = at(rank).flow();
  if (options_.running != nullptr) options_.running->lane = rank;
  if (!schedule_.empty()) warm(schedule_.first());
  return flow;
}

// The rank after the next one: while that one runs, memory comes into the cache.
void engine::warm(rank_t rank) noexcept {
  const auto fetch = [](const void* from, std::size_t lines) {
    const auto* const begin = static_cast<const std::byte*>(from);
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(begin + line * cache_line_bytes, 1);
  };
  const resting& at_rest = resting_[static_cast<std::size_t>(rank)];
  fetch(&at(rank), sizeof(port) / cache_line_bytes);
  fetch(at_rest.stack, 10);
  fetch(at_rest.receiver, 6);
}

void engine::suspend(port& running) noexcept {
  constexpr std::size_t below_bytes = 256;  // what the switch itself puts on the stack
  resting_[static_cast<std::size_t>(running.rank())] = {
      static_cast<const std::byte*>(__builtin_frame_address(0)) - below_bytes, running.receiver()};
  fiber& to = next();
  if (&to != &running.flow()) running.flow().switch_to(to);
}

fiber& engine::run_rank(port& self) noexcept {
  run_program(self);
  if (self.killed()) {
    --killed_;
  } else {
    end_ns_ = std::max(end_ns_, self.now_ns());
  }
  --running_;
  return next();
}

// Whatever a rank does that was killed, nobody hears of it.
void engine::run_program(port& self) noexcept {
  const auto lives = [&] {
    self.fall_if_killed();
    return !self.killed();
  };
  try {
    self.begin_to_compute();
    const int status = main_(self);
    if (lives() && status != 0) {
      failed_.offer(self.now_ns(), {.status = status, .rank = self.rank()});
      abort(self);
    }
  } catch (const job_aborted&) {
    if (!lives()) return;
    was_aborted_.offer(self.now_ns(), std::current_exception());
    abort(self);
  } catch (...) {
    if (!lives()) return;
    threw_.offer(self.now_ns(), std::current_exception());
    abort(self);
  }
}

error engine::loss_of(rank_t gone, rank_t observer) const {
  return {"AMITY_FABRIC=sim", observer == no_rank ? no_rank : observer / options_.lanes,
          fmt::format("{} has vanished: AMITY_SIM_FAULTS has killed it, with seed {}", options_.name_of(gone),
                      options_.seed),
          "a job does not survive the loss of a rank; see what it was about to do"};
}

void engine::lose(const port& gone, std::uint64_t notice_ns) noexcept {
  ++killed_;
  lost_.offer(notice_ns, gone.rank());
  for (port& p : ports_) {
    if (&p != &gone) p.will_miss(gone.rank(), notice_ns);
  }
}

void engine::abort(const port& from) noexcept {
  aborted_ = true;
  if (from.aborted()) return;  // then everybody has been told
  for (port& p : ports_) p.abort_at(from.now_ns() + (&p == &from ? 0 : options_.latency_ns));
}

// If there are many ranks, lists a sample of each place.
std::string engine::describe_waiting() const {
  constexpr std::size_t listed_max = 16;
  struct group {
    std::string place;
    std::vector<const port*> ranks;
  };
  std::vector<group> groups;
  std::size_t waiting = 0;
  for (const port& p : ports_) {
    if (!p.waiting()) continue;
    ++waiting;
    std::string place = p.place();
    auto at = std::ranges::find(groups, place, &group::place);
    if (at == groups.end()) at = groups.insert(at, {std::move(place), {}});
    at->ranks.push_back(&p);
  }
  const std::size_t each = std::max<std::size_t>(listed_max / std::max<std::size_t>(groups.size(), 1), 1);
  std::string who;
  for (const group& here : groups) {
    std::size_t listed = 0;
    for (const port* const p : here.ranks) {
      if (waiting > listed_max && listed == each) break;
      ++listed;
      fmt::format_to(std::back_inserter(who), "{}{} since {} ns", who.empty() ? "" : "; ", options_.name_of(p->rank()),
                     p->now_ns());
      if (const rank_t peer = p->refused_by(); peer != no_rank) {
        fmt::format_to(std::back_inserter(who), " (for a credit of {})", options_.name_of(peer));
      }
      if (!here.place.empty()) fmt::format_to(std::back_inserter(who), " {}", here.place);
    }
    if (listed < here.ranks.size()) {
      fmt::format_to(std::back_inserter(who), " and {} more", here.ranks.size() - listed);
    }
  }
  return who;
}

error engine::deadlock() {
  return error(
      "sim::run", no_rank,
      fmt::format("deadlock with seed {}: nothing is in flight, and {} of {} {} wait without a deadline: {}",
                  options_.seed, std::ranges::count_if(ports_, &port::waiting), ranks(),
                  options_.lanes == 1 ? "ranks" : "threads", describe_waiting()),
      "look for a message that was never sent, for a packet that was kept and never released, and for ranks that wait "
      "for one another; the same seed replays the schedule");
}

capabilities describe(const sim_options& options) {
  return {
      .name = "sim",
      .description = "simulated network of one process: fibers on a virtual clock, costs follow LogGP",
      .packet_bytes_max = options.packet_bytes,
      .inline_bytes_max = parcel::inline_bytes_max,
      .credits_per_peer = with_reserve(options.credits) - reserve_per_peer,
      .slots_per_peer = with_reserve(options.credits) - reserve_per_peer,
      .bytes_per_peer = 2 * (sizeof(rank_t) + sizeof(peer)),
      .ordered = options.reorder_percent == 0 && (options.ordered || options.delay_ns_max == 0),
      .virtual_time = true,
      .remote = {.available = true,
                 .mapped = false,
                 .unattended = false,
                 .puts_before_packets =
                     options.delay_ns_max == 0 && options.reorder_percent == 0 && options.remote_delay_ns_max == 0,
                 .atomics = true,
                 .notify_bits = 32,
                 .operations_max = options.credits},
  };
}

}  // namespace amity::fabric::sim
