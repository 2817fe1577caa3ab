#include "amity/fabric/ofi/ofi.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/fabric/ofi/ofi_fabric.hpp"

namespace amity::fabric::ofi {
namespace {

/// The endpoints of a process. They are opened together, so that their addresses travel together, and each is then used
/// by its thread alone: it has a domain of its own, which is what providers protect, if anything, from other threads.
class endpoints final : public lanes {
 public:
  endpoints(const std::shared_ptr<bootstrap>& start, std::vector<std::unique_ptr<ofi_fabric>> opened)
      : start_(start), opened_(std::move(opened)), count_(static_cast<rank_t>(opened_.size())) {
    std::vector<std::string> own;
    for (const auto& each : opened_) own.push_back(each->address());
    addresses_ = gather_addresses(*start, own);
  }

  rank_t count() const noexcept override { return count_; }

  std::unique_ptr<fabric> enter(rank_t thread) override {
    std::unique_ptr<ofi_fabric> entered = std::move(opened_[to_index(thread)]);
    entered->connect(addresses_);
    return entered;
  }

  void abort() noexcept override {
    if (const auto start = start_.lock()) start->abort();
  }

 private:
  std::weak_ptr<bootstrap> start_;  ///< ends with the last endpoint: then this process has left the job
  std::vector<std::unique_ptr<ofi_fabric>> opened_;  ///< by thread; null: entered
  rank_t count_;
  std::vector<std::string> addresses_;  ///< by lane of the job
};

}  // namespace

bool available() noexcept { return true; }

capabilities describe(const settings& config, rank_t) {
  std::string why;
  library fabrics;
  sodium crypto;
  info_ptr found;
  if (fabrics.load(why) && crypto.load(why)) found = find_provider(fabrics, provider_request::from(config, true), why);
  if (found) return capabilities_of(fabrics, *found, sizes::from(config));
  capabilities none;
  none.name = "ofi";
  none.description = why;
  return none;
}

std::unique_ptr<lanes> join(const settings& config, std::shared_ptr<bootstrap> start, const neighbourhood& known,
                            rank_t threads, reach whom) {
  const sizes given = sizes::from(config);
  std::string why;
  library fabrics;
  if (!fabrics.load(why)) throw error("AMITY_FABRIC=ofi", start->rank(), why, "install libfabric (libfabric1)");
  sodium crypto;
  if (!crypto.load(why)) throw error("AMITY_FABRIC=ofi", start->rank(), why, "install libsodium (libsodium23)");
  provider_request wanted = provider_request::from(config, std::ranges::count(known.node_of, 0) == start->size());
  info_ptr info = find_provider(fabrics, wanted, why);
  const std::string mine = info ? info->fabric_attr->prov_name : "";
  std::string agreed = mine;
  const company all = greet(*start, known, threads, agreed);
  if (agreed != mine && !agreed.empty()) {
    wanted.provider = agreed;
    info = find_provider(fabrics, wanted, why);
    if (!info) why += ", which rank 0 uses";
  }
  if (!info) {
    throw error("AMITY_FABRIC=ofi", start->rank(), why,
                "unset AMITY_OFI_PROVIDER and AMITY_OFI_ADDRESS, or name others (`fi_info -t FI_EP_RDM` lists them)");
  }
  if (given.packet_bytes + header_bytes > message_bytes_max(*info)) {
    throw error("AMITY_OFI_PACKET_BYTES", start->rank(),
                fmt::format("{} keeps messages in order up to {} bytes, and packets of {} bytes are longer",
                            name_of(*info), message_bytes_max(*info), given.packet_bytes),
                "lower AMITY_OFI_PACKET_BYTES, or name another AMITY_OFI_PROVIDER");
  }
  if (!given.sealed && start->rank() == 0) {
    log_warning(0,
                "AMITY_OFI_SEALED=0: packets over the network are not authenticated; use it in a trusted network only");
  }
  std::vector<std::unique_ptr<ofi_fabric>> opened;
  for (rank_t thread = 0; thread < threads; ++thread) {
    info_ptr own(fabrics.dupinfo(info.get()), {fabrics.freeinfo});
    opened.push_back(std::make_unique<ofi_fabric>(start, all, thread, whom, given, fabrics, crypto, std::move(own)));
  }
  return std::make_unique<endpoints>(std::move(start), std::move(opened));
}

}  // namespace amity::fabric::ofi
