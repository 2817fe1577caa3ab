#pragma once

/// The simulated fabric: all ranks of a job as fibers of one thread, on a virtual clock.
///
/// Costs follow LogGP (Alexandrov, Ionescu, Schauser, Scheiman: "LogGP", SPAA 1995). A send costs the source
/// `overhead`; the packet then leaves as soon as the previous one has been out for `gap` or for its transfer time,
/// travels for `latency` plus `payload bytes x byte_ps`, and costs the target `overhead` again when it is handed over.
/// The header word is LogGP's first byte: it is free. Code of the program itself takes no virtual time, unless it is
/// measured (`compute_percent`) or, for handlers, modelled (`handler`, `handler_of`). With `node_ranks` above
/// 1, each so many ranks share a node, and a packet between two of them travels for `node_latency`; all else costs the
/// same.
///
/// Everything is deterministic: one seed makes every choice, so that the same program with the same options gives the
/// same trace, bit for bit, unless computing is measured. A program must not draw on other sources of chance
/// (addresses, wall clock, threads) if its schedules are to be replayed. Ranks share one thread: nothing that they do
/// may block it outside of `sleep`.
///
/// Operations on remote memory cost what packets cost, but for what `remote_port.hpp` tells.
///
/// Faults have names. Delay: `delay_ns_max`. Reorder: `reorder_percent` among packets, or all that are delayed without
/// `ordered`; `remote_delay_ns_max` between puts and packets. Back-pressure: few `credits`, or such that come back late
/// (`back_pressure_percent`). Slow, stopped and killed ranks: see below.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/sim/figures.hpp"

namespace amity::fabric::sim {

/// A rank whose own costs (overhead, gap, bytes, idle polls) are multiplied; the wire to and from it is as fast as any.
struct slow_rank {
  rank_t rank;
  std::uint32_t factor;
};

/// A rank that does not run from `from_ns` until `until_ns`: its clock passes over that time. Packets to it wait.
struct stopped_rank {
  rank_t rank;
  std::uint64_t from_ns;
  std::uint64_t until_ns;
};

/// A rank that ends at `at_ns` without a word: it handles nothing any more, and what it sends is lost. Its stack is
/// unwound when the job has ended. The others learn of it `notice_ns` later: then the first that waits throws an
/// `error` that names it, and the job ends. Where they have ended before, that is the error of the job.
struct killed_rank {
  rank_t rank = 0;
  std::uint64_t at_ns = 0;
  std::uint64_t notice_ns = 10'000'000;
};

/// What handling a packet takes.
struct handling {
  std::uint64_t ns = 0;
  std::uint64_t byte_ps = 0;  ///< for each byte of payload
};

/// Which rank runs, and where the stacks of ranks are: for crash reports. A signal handler may read it.
struct running_lane {
  volatile rank_t lane = no_rank;  ///< no_rank: none
  std::uintptr_t stacks_begin = 0;
  std::uintptr_t stacks_end = 0;
  std::size_t stride_bytes = 1;  ///< from one stack to the next
  std::size_t guard_bytes = 0;   ///< below each stack

  /// Returns whether an access to this address exceeds the stack of a rank.
  bool overflown(std::uintptr_t address) const noexcept {
    return address >= stacks_begin && address < stacks_end && (address - stacks_begin) % stride_bytes < guard_bytes;
  }
};

struct sim_options {
  std::uint64_t seed = 1;
  running_lane* running = nullptr;      ///< kept up to date while the job runs; null: not wanted
  std::uint64_t latency_ns = 1500;      ///< LogGP L; at least 1
  std::uint64_t node_latency_ns = 300;  ///< the same between ranks of one node; at least 1
  std::uint32_t node_ranks = 1;         ///< ranks of a node, one after the other; the last node may have fewer
  std::uint64_t overhead_ns = 300;      ///< LogGP o
  std::uint64_t gap_ns = 50;            ///< LogGP g
  std::uint64_t byte_ps = 40;           ///< LogGP G
  std::uint32_t compute_percent =
      0;                           ///< virtual time that passes while a rank computes, of the processor time it takes
  std::uint64_t poll_ns = 20;      ///< a poll that finds nothing; at least 1
  std::uint64_t delay_ns_max = 0;  ///< each packet and operation takes longer by a uniform random time below this
  std::uint32_t reorder_percent = 0;  ///< share of packets that are held back at random and lose their place in line
  std::uint64_t remote_delay_ns_max = 0;  ///< the same as `delay_ns_max`, for operations on remote memory alone
  std::uint32_t credits = 64;  ///< packets in flight from one rank to another, with the reserve if there are 4 or more;
                               ///< and operations in flight from one rank; at least 1
  std::size_t packet_bytes = 4160;                   ///< largest payload; at least `packet_bytes_guaranteed`
  std::size_t stack_bytes = std::size_t{256} << 10;  ///< stack of a rank; memory that is not touched costs nothing
  std::vector<slow_rank> slow_ranks = {};
  std::vector<stopped_rank> stopped_ranks = {};
  std::vector<killed_rank> killed_ranks = {};
  bool ordered = true;                      ///< packets of a pair keep their order, whatever their delays
  std::uint32_t back_pressure_percent = 0;  ///< share of packets whose credit comes back late, at random
  handling handler = {};                    ///< what a packet takes for which `handler_of` has nothing else
  /// What packets with this header take; null, or no function: `handler`.
  std::function<const handling*(std::uint64_t header)> handler_of = {};
  rank_t lanes = 1;          ///< so many ranks of the fabric are the threads of one of the program's
  std::string report = {};   ///< see `write_report`
  std::string trace = {};    ///< see `trace_file`
  std::string witness = {};  ///< file that gets a byte when the job has come to its end and nothing was thrown

  /// The settings AMITY_SIM_*, for a job of AMITY_RANKS.
  static sim_options from(const settings& config);

  /// The same where each rank has so many lanes, which are the ranks of the fabric: they share nodes and faults.
  sim_options for_lanes(rank_t each) const;

  /// "rank 3", or "rank 3, thread 1" where ranks have several: what people know a rank of the fabric by.
  std::string name_of(rank_t lane) const;
};

/// What this fabric can do with the given options.
capabilities describe(const sim_options& options);

/// What a rank runs; the result is its exit status. The fabric lives as long as the job.
using rank_main = std::function<int(fabric&)>;

struct sim_result {
  int status = 0;              ///< of the rank that was the first, in virtual time, to end with another status than 0
  rank_t failed = no_rank;     ///< that rank
  std::uint64_t end_ns = 0;    ///< virtual time when the last rank ended
  std::uint64_t events = 0;    ///< packets handed to a sink
  std::uint64_t switches = 0;  ///< times that a fiber was resumed
  std::uint64_t trace_hash =
      0;  ///< over every event handed over; of a packet, its time, source, target, header and size
  std::vector<rank_figures> ranks = {};
};

/// Runs `main` once per rank and returns when all have ended.
///
/// An exception that leaves a rank's main aborts the job, so that the other ranks leave their next `wait` with
/// `job_aborted` and their stacks unwind; then the first exception, in virtual time, is thrown here, a `job_aborted`
/// only where there is no other. A status other than 0 aborts the job too. When every rank that has not ended waits
/// without a deadline and nothing is in flight, that is a deadlock: the ranks are aborted in the same way, and an
/// `amity::error` tells who waits and since when. Report and trace are written however the job ends.
///
/// Throws `amity::error` for unusable options, naming the field. One job at a time a thread; jobs of several threads do
/// not meet.
sim_result run(rank_t ranks, const sim_options& options, const rank_main& main);

}  // namespace amity::fabric::sim
