#pragma once

/// What a rank knows of the peers that it sends to: a record for each, made on first contact.
///
/// The records of all ranks lie in one pool, so that a target reaches the record of a packet's pair without a search.

#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/large_array.hpp"
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
  static constexpr std::size_t chunk_peers = 65'536;  // 2 MiB

  std::vector<large_array<peer>> chunks_;
  std::vector<peer_id> free_;
};

}  // namespace amity::fabric::sim
