#include "amity/world/fabrics.hpp"

#include <fmt/format.h>

#include "amity/fabric/composite/composite.hpp"
#include "amity/fabric/mpi/choice.hpp"
#include "amity/fabric/mpi/mpi.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/world/fabric_choice.hpp"

namespace amity {

std::vector<fabric::capabilities> describe_fabrics(const settings& values) {
  const auto ranks = static_cast<rank_t>(values.integer("AMITY_RANKS"));
  std::vector<fabric::capabilities> all{
      fabric::shm::describe_processes(values, ranks), fabric::shm::describe_threads(values, ranks),
      fabric::sim::describe(fabric::sim::sim_options::from(values)), fabric::ofi::describe(values, ranks)};
  if (all.back().packet_bytes_max > 0) all.push_back(fabric::describe_composite(all.front(), all.back()));
  if (const auto mpis = fabric::mpi::installed(); !mpis.empty()) {
    all.push_back(fabric::mpi::describe(values, fmt::format("{}", fmt::join(mpis, ", "))));
  }
  return all;
}

std::vector<std::string> explain_fabric(const settings& values) {
  return detail::choose_fabric(detail::circumstances::of(values, true, detail::find_starter(values))).lines();
}

std::optional<mpi_choice> find_mpi(const settings& values) {
  const auto made = fabric::mpi::choose(fabric::mpi::evidence::of(values, ""));
  if (!made) return std::nullopt;
  return mpi_choice{.name = std::string(fabric::mpi::setting_of(made->which)), .reason = made->reason};
}

}  // namespace amity
