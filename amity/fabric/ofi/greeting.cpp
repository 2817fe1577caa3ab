#include "amity/fabric/ofi/greeting.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::ofi {
namespace {

/// Processes with the same answer reach each other without leaving the machine: one kernel, one network.
std::string node_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code unknown;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", unknown);
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return fmt::format("{}/{}/{}", host.data(), boot, network.string());
}

secret random_secret(rank_t rank) {
  secret made;
  if (::getrandom(&made, sizeof made, 0) == sizeof made) return made;
  throw error("AMITY_FABRIC=ofi", rank, "the system gives no random numbers", "use another fabric");
}

}  // namespace

company greet(bootstrap& start, const std::string& agreed) {
  const secret mine = random_secret(start.rank());
  std::string blob(sizeof mine, '\0');
  std::memcpy(blob.data(), &mine, sizeof mine);
  blob += agreed + '\n' + node_identity();
  blob.resize(std::min(blob.size(), bootstrap::blob_bytes_max));
  const std::vector<std::string> all = start.all_gather(blob);

  company found;
  std::map<std::string, rank_t, std::less<>> nodes;
  for (rank_t rank = 0; rank < start.size(); ++rank) {
    const std::string& each = all[static_cast<std::size_t>(rank)];
    const auto line_end = each.find('\n', sizeof mine);
    if (line_end == std::string::npos) {
      throw error("AMITY_FABRIC=ofi", start.rank(), fmt::format("rank {} speaks another language", rank),
                  "start all ranks with the same build of the program");
    }
    const std::string theirs = each.substr(sizeof mine, line_end - sizeof mine);
    if (theirs != agreed) {
      throw error("AMITY_FABRIC=ofi", start.rank(),
                  fmt::format("rank {} has other settings: {} there, {} here", rank, theirs, agreed),
                  "give all ranks the same AMITY_OFI_* settings, and the same build of the program");
    }
    found.node_of.push_back(nodes.try_emplace(each.substr(line_end + 1), rank).first->second);
  }
  std::memcpy(&found.key, all.front().data(), sizeof found.key);
  return found;
}

}  // namespace amity::fabric::ofi
