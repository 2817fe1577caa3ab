#pragma once

/// What two ranks of a node share, and where it lies.
///
/// Each ordered pair of ranks has a channel of its own: a ring of 64-byte slots that only the source writes and only
/// the target reads, a line through which the target returns credits, and buffers that the target lends to the source.
/// One producer a ring needs no atomic read-modify-write, so that stores to several slots are in flight at once; see
/// docs/decisions/0001-shared-memory-rings.md. All-zero memory is a valid initial state.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::shm {

/// One packet, or the descriptor of a packet in a buffer. The source writes the payload first and the stamp last.
struct alignas(cache_line_bytes) ring_slot {
  /// Sequence number (high 32 bits, position in the stream plus one) and `info` (low 32 bits).
  std::atomic<std::uint64_t> stamp;
  std::uint64_t header;
  alignas(16) std::byte inline_payload[48];
};
static_assert(sizeof(ring_slot) == cache_line_bytes && offsetof(ring_slot, inline_payload) == 16);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t inline_bytes_max = sizeof(ring_slot::inline_payload);

/// `info` of a stamp: payload bytes, the buffer's index plus one when the payload lies in a buffer (or `notification`:
/// no packet, the header is what `on_notify` is told), and a bit that is always set, so that no stamp equals fresh
/// memory. In an express lane also which of the two ranks has written.
struct stamp_info {
  static constexpr std::uint32_t bytes_bits = 24;
  static constexpr std::uint32_t bytes_mask = (1u << (bytes_bits - 1)) - 1;
  static constexpr std::uint32_t by_higher_rank = 1u << (bytes_bits - 1);
  static constexpr std::uint32_t written = 1u << 31;
  static constexpr std::uint32_t notification = (1u << (31 - bytes_bits)) - 1;  ///< more than there are buffers

  static constexpr std::uint64_t pack(std::uint32_t sequence, std::uint32_t buffer_plus_one, std::size_t bytes) {
    return (std::uint64_t{sequence} << 32) | written | (buffer_plus_one << bytes_bits) |
           static_cast<std::uint32_t>(bytes);
  }
  static constexpr std::uint32_t sequence(std::uint64_t stamp) { return static_cast<std::uint32_t>(stamp >> 32); }
  static constexpr std::uint32_t buffer_plus_one(std::uint64_t stamp) {
    return (static_cast<std::uint32_t>(stamp) & ~written) >> bytes_bits;
  }
  static constexpr std::uint32_t mark(std::uint64_t stamp) {
    return static_cast<std::uint32_t>(stamp) & by_higher_rank;
  }
  static constexpr std::uint32_t bytes(std::uint64_t stamp) { return static_cast<std::uint32_t>(stamp) & bytes_mask; }
};

/// Credits on their way back: written by the target, read by the source. The target also shows here that it is
/// `engaged`, as a source of packets.
struct alignas(cache_line_bytes) credit_line {
  /// Packets of this channel that the target has released, in all.
  std::atomic<std::uint64_t> packets_released;
  /// Bit b flips each time the target gives buffer b back.
  std::atomic<std::uint64_t> buffers_returned;
  /// Not 0: it sends packets that its peer will poll; see `attention`.
  std::atomic<std::uint32_t> engaged;
};
static_assert(sizeof(credit_line) == cache_line_bytes);

/// How a rank that has nothing to do sleeps, or is about to.
enum class sleep_mode : std::uint32_t { awake, on_futex, on_socket };

/// Where it sleeps.
struct alignas(2 * cache_line_bytes) door {
  /// A `sleep_mode`; the futex word.
  std::atomic<std::uint32_t> sleeping;
  /// Abstract address of the socket on which the rank may sleep: the five digits that the system gives, or zeros.
  char socket_name[5];
  /// Whether the rank polls all the time; and whether a peer has ever relied on that.
  alignas(cache_line_bytes) std::atomic<std::uint32_t> attends;
  std::atomic<std::uint32_t> is_relied_on;
};

/// Sizes of one job's channels, the same on all its ranks.
struct geometry {
  rank_t ranks = 1;
  std::size_t ring_slots = 0;    ///< power of two
  std::size_t buffers = 0;       ///< per channel, with the reserve; at most 64
  std::size_t packet_bytes = 0;  ///< of a buffer; multiple of the cache line

  static geometry from(const settings& config, rank_t ranks);

  std::size_t channels() const { return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks); }
  std::size_t ring_bytes() const { return ring_slots * sizeof(ring_slot); }
  std::size_t buffers_bytes() const { return buffers * packet_bytes; }
  std::size_t bytes_per_peer() const {
    return ring_bytes() + sizeof(ring_slot) + sizeof(credit_line) + buffers_bytes();
  }
  std::size_t total_bytes() const {
    return static_cast<std::size_t>(ranks) * sizeof(door) + channels() * bytes_per_peer();
  }
  /// A number that differs when any size does.
  std::uint64_t fingerprint() const;
};

/// The parts of one channel, in this process's mapping.
struct channel_memory {
  ring_slot* ring;
  ring_slot* lane;  ///< the same for both directions
  credit_line* credits;
  std::byte* buffers;
};

/// Finds doors and channels in a job's region. Doors first, then all credit lines, lanes, rings and buffers, so that
/// lines of one kind lie close together.
class region_map {
 public:
  region_map(std::byte* base, const geometry& sizes) : base_(base), sizes_(sizes) {}

  door& door_of(rank_t rank) const {
    return *reinterpret_cast<door*>(base_ + static_cast<std::size_t>(rank) * sizeof(door));
  }
  channel_memory channel(rank_t target, rank_t source) const;

 private:
  std::byte* base_;
  geometry sizes_;
};

}  // namespace amity::fabric::shm
