#include "amity/fabric/ofi/ofi.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/ofi/ofi_fabric.hpp"

namespace amity::fabric::ofi {
namespace {

/// The provider that rank 0 has found. Hosts need not find the same one first, and one does not understand another.
info_ptr agree_on_provider(const library& fabrics, provider_request wanted, bootstrap& start) {
  std::string why;
  info_ptr found = find_provider(fabrics, wanted, why);
  const std::string mine = found ? found->fabric_attr->prov_name : "";
  const std::string agreed = start.all_gather(mine).front();
  if (mine != agreed && !agreed.empty()) {
    wanted.provider = agreed;
    found = find_provider(fabrics, wanted, why);
    if (!found) why += ", which rank 0 uses";
  }
  if (found) return found;
  throw error("AMITY_FABRIC=ofi", start.rank(), why,
              "unset AMITY_OFI_PROVIDER and AMITY_OFI_ADDRESS, or name others (`fi_info -t FI_EP_RDM` lists them)");
}

}  // namespace

bool available() noexcept { return true; }

capabilities describe(const settings& config, rank_t) {
  std::string why;
  library fabrics;
  info_ptr found;
  if (fabrics.load(why)) found = find_provider(fabrics, provider_request::from(config, true), why);
  if (found) return capabilities_of(fabrics, *found, sizes::from(config));
  capabilities none;
  none.name = "ofi";
  none.description = why;
  return none;
}

std::unique_ptr<fabric> join(const settings& config, std::shared_ptr<bootstrap> start) {
  const sizes given = sizes::from(config);
  company all = greet(*start, fmt::format("AMITY_OFI_PACKET_BYTES={} AMITY_OFI_CREDITS={} AMITY_OFI_PROVIDER={}",
                                          given.packet_bytes, given.credits, config.text("AMITY_OFI_PROVIDER")));
  std::string why;
  library fabrics;
  if (!fabrics.load(why)) throw error("AMITY_FABRIC=ofi", start->rank(), why, "install libfabric (libfabric1)");
  info_ptr info = agree_on_provider(fabrics, provider_request::from(config, all.one_node()), *start);
  if (given.packet_bytes + header_bytes > message_bytes_max(*info)) {
    throw error("AMITY_OFI_PACKET_BYTES", start->rank(),
                fmt::format("{} keeps messages in order up to {} bytes, and packets of {} bytes are longer",
                            name_of(*info), message_bytes_max(*info), given.packet_bytes),
                "lower AMITY_OFI_PACKET_BYTES, or name another AMITY_OFI_PROVIDER");
  }
  return std::make_unique<ofi_fabric>(std::move(start), std::move(all), given, fabrics, std::move(info));
}

}  // namespace amity::fabric::ofi
