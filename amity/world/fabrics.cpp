#include "amity/world/fabrics.hpp"

#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity {

std::vector<fabric::capabilities> describe_fabrics(const settings& values) {
  const auto ranks = static_cast<rank_t>(values.integer("AMITY_RANKS"));
  return {fabric::shm::describe_processes(values, ranks), fabric::shm::describe_threads(values, ranks),
          fabric::sim::describe(fabric::sim::sim_options::from(values)), fabric::ofi::describe(values, ranks)};
}

}  // namespace amity
