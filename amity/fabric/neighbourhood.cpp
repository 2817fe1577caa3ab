#include "amity/fabric/neighbourhood.hpp"

#include <array>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/node.hpp"

namespace amity::fabric {
namespace {

/// With other values than its peers a process would reach them by another way, or not understand what they send.
constexpr auto alike = std::to_array<std::string_view>(
    {"AMITY_EPOCH_DETECTOR", "AMITY_FABRIC", "AMITY_FABRIC_CHECKED", "AMITY_FABRIC_TRACED", "AMITY_LONG_PROTOCOL",
     "AMITY_MESSAGE_COUNTERS", "AMITY_OFI_CREDITS", "AMITY_OFI_PACKET_BYTES", "AMITY_OFI_PROVIDER", "AMITY_OFI_SEALED",
     "AMITY_PROGRESS_THREAD", "AMITY_SHM_BUFFERS", "AMITY_SHM_PACKET_BYTES", "AMITY_SHM_RING_SLOTS", "AMITY_THREADS"});

/// A value as it travels to the others: a short line.
std::string tellable(std::string_view name, std::string value, rank_t rank) {
  constexpr std::size_t bytes_max = 255;
  if (value.size() <= bytes_max && value.find('\n') == value.npos) return value;
  throw error("joining the job", rank, fmt::format("{} has {} bytes, or several lines", name, value.size()),
              fmt::format("give it one line of at most {} bytes", bytes_max));
}

/// A process as it describes itself, a line for each part.
struct introduction {
  std::string node;
  std::string cpus;
  std::array<std::string, alike.size()> values;

  static introduction of_this(const bootstrap& start, const settings& config) {
    introduction made{.node = start.node(), .cpus = allowed_cpus().text(), .values = {}};
    for (std::size_t i = 0; i < alike.size(); ++i)
      made.values[i] = tellable(alike[i], config.value(alike[i]), start.rank());
    return made;
  }
  static introduction parse(const std::string& told) {
    std::istringstream lines(told);
    introduction found;
    std::getline(lines, found.node);
    std::getline(lines, found.cpus);
    for (std::string& each : found.values) std::getline(lines, each);
    return found;
  }
  std::string told() const {
    std::string lines = node + '\n' + cpus + '\n';
    for (const std::string& each : values) lines += each + '\n';
    return lines;
  }
};

void compare(const introduction& own, rank_t rank, const introduction& other, rank_t other_rank) {
  for (std::size_t i = 0; i < alike.size(); ++i) {
    if (own.values[i] == other.values[i]) continue;
    throw error(
        "joining the job", rank,
        fmt::format("{} is '{}' here, and '{}' on rank {}", alike[i], own.values[i], other.values[i], other_rank),
        fmt::format("give all ranks the same {} (Open MPI: mpirun -x {}=...; MPICH: mpiexec -genv {} ...), and "
                    "the same build of the program",
                    alike[i], alike[i], alike[i]));
  }
}

std::vector<rank_t> lowest_ranks(const std::vector<introduction>& all) {
  std::vector<rank_t> node_of;
  std::map<std::string, rank_t, std::less<>> nodes;
  for (rank_t rank = 0; const introduction& each : all)
    node_of.push_back(nodes.try_emplace(each.node, rank++).first->second);
  return node_of;
}

}  // namespace

neighbourhood meet(bootstrap& start, const settings& config) {
  const introduction own = introduction::of_this(start, config);
  std::vector<introduction> all;
  for (const std::string& told : start.all_gather(own.told())) all.push_back(introduction::parse(told));
  for (rank_t rank = 0; const introduction& each : all) compare(own, start.rank(), each, rank++);

  neighbourhood found{.node_of = lowest_ranks(all)};
  cpu_set together;
  for (const rank_t rank : ranks_beside(start.rank(), found.node_of)) {
    together.add(cpu_set::parse(all[static_cast<std::size_t>(rank)].cpus));
  }
  found.cpus = together.count();
  return found;
}

std::vector<rank_t> ranks_beside(rank_t rank, const std::vector<rank_t>& node_of) {
  std::vector<rank_t> found;
  for (rank_t other = 0; const rank_t node : node_of) {
    if (node == node_of[static_cast<std::size_t>(rank)]) found.push_back(other);
    ++other;
  }
  return found;
}

}  // namespace amity::fabric
