#include "amity/fabric/sim/peers.hpp"

#include <algorithm>
#include <bit>

namespace amity::fabric::sim {

peer_id peer_pool::open(rank_t rank) {
  if (free_.empty()) {
    const auto base = static_cast<peer_id>(chunks_.size() * chunk_peers);
    chunks_.push_back(std::make_unique<peer[]>(chunk_peers));
    for (std::size_t i = chunk_peers; i-- > 0;) free_.push_back(base + static_cast<peer_id>(i));
  }
  const peer_id id = free_.back();
  free_.pop_back();
  (*this)[id] = {.rank = rank};
  return id;
}

void peer_table::add(rank_t rank, peer_id id) noexcept {
  std::size_t i = home(rank);
  while (entries_[i].id != no_peer) i = (i + 1) & mask();
  entries_[i] = {rank, id};
  ++count_;
}

void peer_table::rebuild(const std::vector<entry>& keep) {
  // At most three eighths full afterwards: a sweep is paid for by as many first contacts as it has looked at.
  entries_.assign(std::bit_ceil(std::max<std::size_t>(4, keep.size() * 8 / 3 + 1)), entry{});
  count_ = 0;
  for (const entry& e : keep) add(e.rank, e.id);
}

}  // namespace amity::fabric::sim
