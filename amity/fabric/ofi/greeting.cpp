#include "amity/fabric/ofi/greeting.hpp"

#include <sys/random.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"

namespace amity::fabric::ofi {
namespace {

job_key random_key(rank_t rank) {
  job_key made;
  if (::getrandom(made.bytes.data(), made.bytes.size(), 0) == std::ssize(made.bytes)) return made;
  throw error("AMITY_FABRIC=ofi", rank, "the system gives no random numbers", "use another fabric");
}

std::size_t to_count(rank_t threads) { return static_cast<std::size_t>(threads); }

/// In front of each address: its bytes.
using address_length = std::uint16_t;

/// Takes the first address away.
std::string take_address(std::string_view& told, rank_t rank) {
  address_length bytes = 0;
  if (told.size() >= sizeof bytes) std::memcpy(&bytes, told.data(), sizeof bytes);
  if (bytes == 0 || told.size() < sizeof bytes + bytes) {
    throw error("AMITY_FABRIC=ofi", no_rank, fmt::format("rank {} has told no address for each of its threads", rank),
                "start all ranks with the same build of the program");
  }
  std::string found(told.substr(sizeof bytes, bytes));
  told.remove_prefix(sizeof bytes + bytes);
  return found;
}

}  // namespace

company greet(bootstrap& start, const neighbourhood& known, rank_t threads, std::string& found) {
  // Only rank 0 has a key.
  const job_key mine = start.rank() == 0 ? random_key(0) : job_key{};
  std::string blob(sizeof mine, '\0');
  std::memcpy(blob.data(), &mine, sizeof mine);
  const std::string first = start.all_gather(blob + found).front();
  AMITY_ASSERT(first.size() >= sizeof mine, first.size());
  found = first.substr(sizeof mine);

  company made{.key = {}, .threads = threads, .node_of = {}, .cpus = known.cpus};
  std::memcpy(&made.key, first.data(), sizeof made.key);
  for (const rank_t node : known.node_of) made.node_of.insert(made.node_of.end(), to_count(threads), node * threads);
  return made;
}

std::vector<std::string> gather_addresses(bootstrap& start, const std::vector<std::string>& own) {
  std::string blob;
  for (const std::string& each : own) {
    const auto bytes = static_cast<address_length>(each.size());
    blob.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    blob += each;
  }
  if (blob.size() > bootstrap::blob_bytes_max) {
    throw error("AMITY_FABRIC=ofi", start.rank(),
                fmt::format("the addresses of {} threads have {} bytes, more than {}", own.size(), blob.size(),
                            bootstrap::blob_bytes_max),
                "use fewer threads and more ranks");
  }
  std::vector<std::string> all;
  for (rank_t rank = 0; const std::string& told : start.all_gather(blob)) {
    std::string_view left = told;
    for (std::size_t i = 0; i < own.size(); ++i) all.push_back(take_address(left, rank));
    ++rank;
  }
  return all;
}

}  // namespace amity::fabric::ofi
