#include "amity/fabric/ofi/greeting.hpp"

#include <sys/random.h>

#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/node.hpp"

namespace amity::fabric::ofi {
namespace {

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
  blob += agreed + '\n' + start.node();
  blob.resize(std::min(blob.size(), bootstrap::blob_bytes_max));
  const std::vector<std::string> all = start.all_gather(blob);

  company found;
  std::vector<std::string> nodes;
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
    nodes.push_back(each.substr(line_end + 1));
  }
  found.node_of = lowest_ranks(nodes);
  std::memcpy(&found.key, all.front().data(), sizeof found.key);
  return found;
}

}  // namespace amity::fabric::ofi
