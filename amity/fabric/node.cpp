#include "amity/fabric/node.hpp"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric {
namespace {

std::string namespace_of_this(const char* kind) {
  std::error_code unknown;
  return std::filesystem::read_symlink(std::filesystem::path("/proc/self/ns") / kind, unknown).string();
}

}  // namespace

int allowed_cpus() noexcept {
  cpu_set_t set;
  // It fails where the system has more CPUs than the set has places.
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : ::get_nprocs();
}

std::string node_identity(std::string_view given) {
  constexpr std::size_t name_bytes_max = 255;
  if (given.size() > name_bytes_max) {
    throw error("AMITY_NODE", no_rank, fmt::format("the name has {} bytes, more than {}", given.size(), name_bytes_max),
                "give the node a shorter name");
  }
  if (!given.empty()) return std::string(given);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return fmt::format("{}/{}/{}/{}", host.data(), boot, namespace_of_this("net"), namespace_of_this("pid"));
}

std::vector<rank_t> lowest_ranks(const std::vector<std::string>& identities) {
  std::vector<rank_t> node_of;
  std::map<std::string, rank_t, std::less<>> nodes;
  for (rank_t rank = 0; const std::string& each : identities)
    node_of.push_back(nodes.try_emplace(each, rank++).first->second);
  return node_of;
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
