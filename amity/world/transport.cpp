#include "amity/world/transport.hpp"

#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/world/bootstrap/starter.hpp"

namespace amity::detail {

bool ranks_are_processes(std::string_view fabric) { return fabric == "shm" || fabric == "ofi"; }

std::unique_ptr<fabric::fabric> join_job(const settings& config) {
  if (config.text("AMITY_FABRIC") == "shm") return fabric::shm::join(config);
  return fabric::ofi::join(config, make_bootstrap(config));
}

}  // namespace amity::detail
