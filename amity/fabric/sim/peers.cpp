#include "amity/fabric/sim/peers.hpp"

namespace amity::fabric::sim {

peer_id peer_pool::open(rank_t rank) {
  if (free_.empty()) {
    const auto base = static_cast<peer_id>(chunks_.size() * chunk_peers);
    chunks_.emplace_back(chunk_peers);
    for (std::size_t i = chunk_peers; i-- > 0;) free_.push_back(base + static_cast<peer_id>(i));
  }
  const peer_id id = free_.back();
  free_.pop_back();
  (*this)[id] = {.rank = rank};
  return id;
}

}  // namespace amity::fabric::sim
