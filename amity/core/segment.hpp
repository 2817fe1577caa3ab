#pragma once

/// Memory that a rank offers to its peers, and as they reach it.

#include <cstddef>
#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::core {

/// Names a segment to any rank; may be copied as bytes.
struct segment_name {
  fabric::segment_key key;
  std::uint32_t number = 0;  ///< among the segments of its owner
  std::uint16_t thread = 0;  ///< of its rank, that owns it
  std::uint16_t world = 0;   ///< in which it was made
  std::uint64_t bytes = 0;
  std::int64_t lane = no_rank;  ///< that owns it; 64 bits, so that a name has no padding
  bool operator==(const segment_name&) const = default;
};

/// Memory of this rank that peers may read and write. It begins as zeros, on a cache line.
struct own_segment {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  segment_name name;
  bool operator==(const own_segment&) const = default;
};

/// A segment of some rank as this rank reaches it; of no lane: none.
struct peer_segment {
  rank_t lane = no_rank;  ///< whose it is; where ranks have one thread, the rank
  std::uint32_t number = 0;
  std::uint16_t thread = 0;  ///< of this rank, that has opened it
  world_number world = 0;    ///< in which that was
  fabric::remote_segment handle;

  std::size_t bytes() const noexcept { return handle.bytes; }
};

/// A place in a segment.
struct place {
  peer_segment segment;
  std::size_t offset = 0;
};

}  // namespace amity::core
