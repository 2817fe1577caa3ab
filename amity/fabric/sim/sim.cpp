#include "amity/fabric/sim/sim.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/file_descriptor.hpp"
#include "amity/base/log.hpp"
#include "amity/fabric/sim/engine.hpp"
#include "amity/fabric/sim/faults.hpp"
#include "amity/fabric/sim/report.hpp"

namespace amity::fabric::sim {
namespace {

constexpr std::uint32_t node_ranks_max = 1u << 16;

template <class Value, class Bound>
void require(bool holds, std::string_view field, Value value, std::string_view relation, Bound bound) {
  if (holds) return;
  throw error("sim::run", no_rank, fmt::format("{} is {}", field, value),
              fmt::format("it must be {} {}", relation, bound));
}

void check(rank_t ranks, const sim_options& options) {
  const auto at_least = [](std::string_view field, auto value, std::uint64_t min) {
    require(static_cast<std::uint64_t>(value) >= min, field, value, "at least", min);
  };
  const auto at_most = [](std::string_view field, auto value, std::uint64_t max) {
    require(static_cast<std::uint64_t>(value) <= max, field, value, "at most", max);
  };
  const auto is_rank = [&](std::string_view field, rank_t rank) {
    require(rank >= 0 && rank < ranks, field, rank, "a rank below", ranks);
  };
  require(ranks >= 1, "the number of ranks", ranks, "at least", 1);
  at_least("latency_ns", options.latency_ns, 1);
  at_least("node_latency_ns", options.node_latency_ns, 1);
  at_least("node_ranks", options.node_ranks, 1);
  at_most("node_ranks", options.node_ranks, node_ranks_max);
  at_least("poll_ns", options.poll_ns, 1);
  at_least("credits", options.credits, 1);
  at_least("packet_bytes", options.packet_bytes, packet_bytes_guaranteed);
  at_most("packet_bytes", options.packet_bytes, std::size_t{1} << 20);
  at_most("reorder_percent", options.reorder_percent, 100);
  at_most("back_pressure_percent", options.back_pressure_percent, 100);
  at_least("stack_bytes", options.stack_bytes, std::size_t{16} << 10);
  for (const slow_rank& slow : options.slow_ranks) {
    is_rank("slow_rank::rank", slow.rank);
    at_least("slow_rank::factor", slow.factor, 1);
  }
  for (const stopped_rank& stop : options.stopped_ranks) {
    is_rank("stopped_rank::rank", stop.rank);
    at_least("stopped_rank::until_ns", stop.until_ns, stop.from_ns);
  }
  for (const killed_rank& killed : options.killed_ranks) is_rank("killed_rank::rank", killed.rank);
  check_report(options.report);
  if (!options.trace.empty() && options.trace == options.report) {
    throw error("sim::run", no_rank, fmt::format("AMITY_SIM_TRACE={} is AMITY_SIM_REPORT's file, too", options.trace),
                "give each a file of its own");
  }
}

// Where processes have other numbers, the name may be of anything: what `amity sim` has made for this is empty, or has
// heard of an earlier job, and is in no directory.
void tell_witness(const std::string& path) {
  const file_descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  struct stat about {};
  const bool is_made_for_this =
      file && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 0 && about.st_size <= 1;
  if (is_made_for_this && (about.st_size == 1 || ::write(file.get(), "+", 1) == 1)) return;
  log_warning(no_rank,
              fmt::format("`amity sim --explore` cannot be told that the job has ended: {} is not its file", path));
}

}  // namespace

sim_options sim_options::from(const settings& config) {
  const auto value = [&]<class T>(T& field, std::string_view name) { field = static_cast<T>(config.integer(name)); };
  sim_options options;
  value(options.seed, "AMITY_SIM_SEED");
  value(options.latency_ns, "AMITY_SIM_LATENCY_NS");
  value(options.node_latency_ns, "AMITY_SIM_NODE_LATENCY_NS");
  value(options.node_ranks, "AMITY_SIM_NODE_RANKS");
  value(options.overhead_ns, "AMITY_SIM_OVERHEAD_NS");
  value(options.gap_ns, "AMITY_SIM_GAP_NS");
  value(options.byte_ps, "AMITY_SIM_BYTE_PS");
  value(options.delay_ns_max, "AMITY_SIM_DELAY_NS_MAX");
  value(options.remote_delay_ns_max, "AMITY_SIM_REMOTE_DELAY_NS_MAX");
  value(options.reorder_percent, "AMITY_SIM_REORDER_PERCENT");
  value(options.compute_percent, "AMITY_SIM_COMPUTE_PERCENT");
  value(options.ordered, "AMITY_SIM_ORDERED");
  value(options.back_pressure_percent, "AMITY_SIM_BACK_PRESSURE_PERCENT");
  value(options.handler.ns, "AMITY_SIM_HANDLER_NS");
  value(options.handler.byte_ps, "AMITY_SIM_HANDLER_BYTE_PS");
  value(options.credits, "AMITY_SIM_CREDITS");
  value(options.packet_bytes, "AMITY_SIM_PACKET_BYTES");
  value(options.stack_bytes, "AMITY_SIM_STACK_BYTES");
  options.report = config.text("AMITY_SIM_REPORT");
  options.trace = config.text("AMITY_SIM_TRACE");
  options.witness = config.text("AMITY_SIM_WITNESS");
  add_faults(options, config.text("AMITY_SIM_FAULTS"), static_cast<rank_t>(config.integer("AMITY_RANKS")));
  return options;
}

std::string sim_options::name_of(rank_t lane) const {
  return lanes == 1 ? fmt::format("rank {}", lane) : fmt::format("rank {}, thread {}", lane / lanes, lane % lanes);
}

sim_options sim_options::for_lanes(rank_t each) const {
  sim_options spread = *this;
  spread.lanes = each;
  spread.node_ranks =
      std::min(spread.node_ranks, node_ranks_max / static_cast<std::uint32_t>(each)) * static_cast<std::uint32_t>(each);
  const auto copy_to_lanes = [&]<class Fault>(std::vector<Fault>& faults) {
    const std::vector<Fault> of_ranks = std::exchange(faults, {});
    for (Fault fault : of_ranks) {
      fault.rank *= each;
      for (rank_t lane = 0; lane < each; ++lane, ++fault.rank) faults.push_back(fault);
    }
  };
  copy_to_lanes(spread.slow_ranks);
  copy_to_lanes(spread.stopped_ranks);
  copy_to_lanes(spread.killed_ranks);
  return spread;
}

sim_result run(rank_t ranks, const sim_options& options, const rank_main& main) {
  check(ranks, options);
  engine job(ranks, options, main);
  // A file that cannot be written is no reason to hide why the job has failed.
  const auto write_down = [&] {
    if (job.trace() != nullptr) job.trace()->finish();
    write_report(options.report, job.figures());
  };
  const auto write_down_if_possible = [&] {
    try {
      write_down();
    } catch (const error& unwritten) {
      log_warning(no_rank, unwritten.what());
    }
  };
  sim_result result;
  try {
    result = job.run();
  } catch (...) {
    write_down_if_possible();
    throw;
  }
  if (result.status != 0) {
    write_down_if_possible();
    return result;
  }
  write_down();
  if (!options.witness.empty()) tell_witness(options.witness);
  return result;
}

}  // namespace amity::fabric::sim
