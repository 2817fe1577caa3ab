/// In place of the fabric, in a build without libfabric or libsodium.

#ifndef AMITY_HAS_OFI

#include "amity/base/error.hpp"
#include "amity/fabric/ofi/ofi.hpp"

namespace amity::fabric::ofi {

bool available() noexcept { return false; }

capabilities describe(const settings&, rank_t) {
  capabilities none;
  none.name = "ofi";
  none.description =
      "not in this build: libfabric or libsodium was not found when amity was configured "
      "(libfabric-dev, libsodium-dev)";
  return none;
}

std::unique_ptr<lanes> join(const settings&, std::shared_ptr<bootstrap> start, const neighbourhood&, rank_t, reach) {
  throw error("AMITY_FABRIC=ofi", start->rank(), "this build of amity has no libfabric or no libsodium",
              "install both (libfabric-dev, libsodium-dev) and build amity again, or unset AMITY_FABRIC");
}

}  // namespace amity::fabric::ofi

#endif
