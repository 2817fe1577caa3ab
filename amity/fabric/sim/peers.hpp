#pragma once

/// What a rank knows of the peers that it sends to: a record for each, made on first contact, found by a sparse table.
///
/// Before a table grows, peers that are idle leave it: it holds about as many as have had packets in flight of late,
/// not as many as there are ranks. The records of all ranks lie in one pool, so that a target reaches the record of a
/// packet's pair without a search.

#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/sim/parcels.hpp"

namespace amity::fabric::sim {

/// One direction of a pair of ranks, as its source sees it.
struct peer {
  std::uint64_t last_arrival_ns = 0;      ///< of the packets that keep their order
  parcel_id returning_first = no_parcel;  ///< parcels whose credits travel back, in the order of their times
  parcel_id returning_last = no_parcel;
  std::uint32_t in_flight = 0;  ///< credits that are out: from acquire or send until they have travelled back
  rank_t rank = 0;
  bool refused = false;  ///< `again` was answered, and no credit was seen since
};

class peer_pool {
 public:
  peer& operator[](peer_id id) noexcept { return chunks_[id / chunk_peers][id % chunk_peers]; }

  peer_id open(rank_t rank);
  void close(peer_id id) { free_.push_back(id); }

 private:
  static constexpr std::size_t chunk_peers = 512;

  std::vector<std::unique_ptr<peer[]>> chunks_;
  std::vector<peer_id> free_;
};

/// Open addressing, at most three quarters full.
class peer_table {
 public:
  /// The peer's record, or `no_peer`.
  peer_id find(rank_t rank) const noexcept {
    if (entries_.empty()) return no_peer;
    for (std::size_t i = home(rank);; i = (i + 1) & mask()) {
      if (entries_[i].rank == rank) return entries_[i].id;
      if (entries_[i].id == no_peer) return no_peer;
    }
  }

  bool full() const noexcept { return count_ + 1 > entries_.size() / 4 * 3; }

  /// Enters a rank that is not in the table, which is not full.
  void add(rank_t rank, peer_id id) noexcept;

  /// Takes out the peers for which `idle(peer_id)` holds, and makes room.
  template <class Idle>
  void sweep(Idle&& idle) {
    std::vector<entry> keep;
    for (const entry& e : entries_) {
      if (e.id != no_peer && !idle(e.id)) keep.push_back(e);
    }
    rebuild(keep);
  }

 private:
  struct entry {
    rank_t rank = -1;
    peer_id id = no_peer;
  };

  std::size_t mask() const noexcept { return entries_.size() - 1; }
  std::size_t home(rank_t rank) const noexcept {
    // Fibonacci hashing: the high bits of the product are well mixed, and neighbours land apart.
    return (static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15u >> 32) & mask();
  }

  void rebuild(const std::vector<entry>& keep);

  std::vector<entry> entries_;  // a power of two, or none
  std::size_t count_ = 0;
};

}  // namespace amity::fabric::sim
