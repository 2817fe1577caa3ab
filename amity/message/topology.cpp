#include "amity/message/topology.hpp"

#include <algorithm>
#include <numeric>

namespace amity {

node_aware::node_aware(std::span<const rank_t> nodes) : places_(nodes.size()), members_(nodes.size()) {
  const auto node_of = [&](rank_t rank) { return nodes[static_cast<std::size_t>(rank)]; };
  std::iota(members_.begin(), members_.end(), 0);
  std::ranges::stable_sort(members_, {}, node_of);
  for (auto first = members_.begin(); first != members_.end();) {
    const auto last =
        std::find_if(first, members_.end(), [&](rank_t rank) { return node_of(rank) != node_of(*first); });
    for (auto member = first; member != last; ++member) {
      places_[static_cast<std::size_t>(*member)] = {.first = static_cast<rank_t>(first - members_.begin()),
                                                    .ranks = static_cast<rank_t>(last - first),
                                                    .index = static_cast<rank_t>(member - first)};
    }
    first = last;
  }
}

}  // namespace amity
