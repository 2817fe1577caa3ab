#pragma once

/// Memory that a rank offers to its peers, and as they reach it.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "amity/base/types.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::core {

/// Names a segment to any rank; may be copied as bytes.
struct segment_descriptor {
  fabric::segment_key key;
  std::uint32_t number = 0;     ///< among the segments of its owner
  std::int32_t lane = no_rank;  ///< of the job: the thread of a rank that owns it
  std::uint64_t bytes = 0;
  bool operator==(const segment_descriptor&) const = default;
};
static_assert(std::has_unique_object_representations_v<segment_descriptor>);

/// Memory of this rank that peers may read and write. Unless attached, it begins as zeros, on a cache line.
struct local_segment {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  segment_descriptor descriptor;
  bool operator==(const local_segment&) const = default;
};

/// A segment of some rank as this rank reaches it; of no lane: none.
struct remote_segment {
  rank_t lane = no_rank;  ///< of the job: the thread of a rank that owns it
  std::uint32_t number = 0;
  std::uint16_t thread = 0;  ///< of this rank, that has opened it
  fabric::remote_handle handle;

  std::size_t bytes() const noexcept { return handle.bytes; }
};

struct remote_address {
  remote_segment segment;
  std::size_t offset = 0;  ///< bytes
};

}  // namespace amity::core
