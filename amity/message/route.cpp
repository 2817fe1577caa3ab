#include "amity/message/route.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::detail {

std::vector<rank_t> nodes_by_rank(core::endpoint& owner) {
  std::vector<rank_t> nodes(static_cast<std::size_t>(owner.size()));
  const core::destinations lanes = owner.main_threads();
  for (rank_t rank = 0; rank < owner.size(); ++rank) {
    nodes[static_cast<std::size_t>(rank)] = owner.transport().node_of(lanes.lane(rank));
  }
  return nodes;
}

void throw_wrong_hop(const core::endpoint& owner, rank_t dest, rank_t hop) {
  throw error(
      "route", owner.rank(),
      fmt::format("next_hop({}, {}) of the topology is {}, which is not a rank of this job", owner.rank(), dest, hop),
      fmt::format("let it return a rank from 0 to {} that is nearer to the destination", owner.size() - 1));
}

void throw_too_many_hops(const core::endpoint& owner, rank_t dest, int hops) {
  throw error("route", owner.rank(),
              fmt::format("a message to rank {} has taken {} hops and has not arrived", dest, hops),
              fmt::format("let each next_hop of the topology come nearer to the destination: a route visits no rank "
                          "twice, and has at most {} hops",
                          topology_hops_max));
}

}  // namespace amity::detail
