#include "amity/fabric/shm/layout.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/reserve.hpp"

namespace amity::fabric::shm {

geometry geometry::from(const settings& config, rank_t ranks) {
  geometry sizes;
  sizes.ranks = ranks;
  sizes.ring_slots = static_cast<std::size_t>(config.integer("AMITY_SHM_RING_SLOTS"));
  sizes.buffers = with_reserve(static_cast<std::size_t>(config.integer("AMITY_SHM_BUFFERS")));
  sizes.packet_bytes = static_cast<std::size_t>(config.integer("AMITY_SHM_PACKET_BYTES"));
  if (!std::has_single_bit(sizes.ring_slots)) {
    throw error("settings", no_rank, fmt::format("AMITY_SHM_RING_SLOTS={} is not a power of two", sizes.ring_slots),
                fmt::format("use {} or {}", std::bit_floor(sizes.ring_slots), std::bit_ceil(sizes.ring_slots)));
  }
  if (sizes.packet_bytes % cache_line_bytes != 0) {
    throw error("settings", no_rank,
                fmt::format("AMITY_SHM_PACKET_BYTES={} is not a multiple of {}", sizes.packet_bytes, cache_line_bytes),
                fmt::format("use {}", (sizes.packet_bytes / cache_line_bytes + 1) * cache_line_bytes));
  }
  return sizes;
}

std::uint64_t geometry::fingerprint() const {
  std::uint64_t hash = splitmix64::mix(static_cast<std::uint64_t>(ranks));
  for (const std::size_t part : {ring_slots, buffers, packet_bytes}) hash = splitmix64::mix(hash ^ part);
  return hash | 1;  // never the zero of fresh memory
}

channel_memory region_map::channel(rank_t target, rank_t source) const {
  const auto ranks = static_cast<std::size_t>(sizes_.ranks);
  const auto index_of = [ranks](rank_t row, rank_t column) {
    return static_cast<std::size_t>(row) * ranks + static_cast<std::size_t>(column);
  };
  const std::size_t index = index_of(target, source);
  const std::size_t pair = index_of(std::min(target, source), std::max(target, source));
  std::byte* const credits = base_ + ranks * sizeof(door);
  std::byte* const lanes = credits + sizes_.channels() * sizeof(credit_line);
  std::byte* const rings = lanes + sizes_.channels() * sizeof(ring_slot);
  std::byte* const buffers = rings + sizes_.channels() * sizes_.ring_bytes();
  return {.ring = reinterpret_cast<ring_slot*>(rings + index * sizes_.ring_bytes()),
          .lane = reinterpret_cast<ring_slot*>(lanes + pair * sizeof(ring_slot)),
          .credits = reinterpret_cast<credit_line*>(credits + index * sizeof(credit_line)),
          .buffers = buffers + index * sizes_.buffers_bytes()};
}

}  // namespace amity::fabric::shm
