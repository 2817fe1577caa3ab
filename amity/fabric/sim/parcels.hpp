#pragma once

/// The memory of packets: every packet that is being filled, in flight, or held by its target, is a parcel.
///
/// A parcel is two cache lines, the second of which holds a payload of up to 64 bytes; larger payloads lie in buffers
/// of powers of two. Both come from free lists: once the free lists are warm, a packet allocates nothing.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "amity/base/large_array.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::sim {

/// Names a parcel in its pool.
using parcel_id = std::uint32_t;

enum class parcel_state : std::uint8_t { free, filling, in_flight, handed, kept };

struct alignas(cache_line_bytes) parcel {
  static constexpr std::size_t inline_bytes_max = 64;

  std::uint64_t time_ns = 0;  ///< of its arrival
  std::uint64_t header = 0;
  std::byte* payload = nullptr;
  rank_t source = 0;
  rank_t target = 0;
  std::uint32_t bytes = 0;
  std::uint32_t generation = 0;  ///< grows with each use, so that an old token is recognised
  parcel_state state = parcel_state::free;
  std::uint8_t size_class = 0;                  ///< of the buffer; 0: the payload lies in `space`
  alignas(16) std::array<std::byte, 80> space;  ///< the first 16 bytes share their line with the fields above

  /// Where a small payload goes: beside the fields, or, if it was filled in a slot, on a line of its own.
  std::byte* small(bool from_slot) noexcept { return space.data() + (from_slot ? 16 : 0); }
};
static_assert(sizeof(parcel) == 2 * cache_line_bytes && offsetof(parcel, space) == cache_line_bytes - 16);

class parcel_pool : private immovable {
 public:
  explicit parcel_pool(std::size_t payload_bytes_max);

  bool contains(parcel_id id) const noexcept { return id / chunk_parcels < chunks_.size(); }
  parcel& operator[](parcel_id id) noexcept { return chunks_[id / chunk_parcels][id % chunk_parcels]; }

  /// A parcel with room for `bytes` of payload, in state `filling`.
  parcel_id open(std::size_t bytes);

  /// Moves the payload, whose size is known by now, out of a much larger buffer: memory follows the bytes in flight.
  void fit(parcel& p);

  /// Gives the memory of the payload back: it may not be read any more.
  void drop_payload(parcel& p) noexcept;

  /// Gives back a parcel whose payload was dropped.
  void close(parcel_id id) noexcept;

 private:
  static constexpr std::size_t chunk_parcels = 16'384;  // 2 MiB
  static constexpr std::size_t buffer_chunk_bytes = std::size_t{16} << 10;
  static constexpr std::size_t classes = 16;  // 64 << 15 holds the largest packet that the settings allow

  struct free_buffer {
    free_buffer* next;
  };
  struct aligned_delete {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete[](memory, std::align_val_t{cache_line_bytes});
    }
  };

  static std::uint8_t class_of(std::size_t bytes) noexcept {
    return static_cast<std::uint8_t>(std::bit_width((bytes - 1) / cache_line_bytes));
  }
  std::size_t class_bytes(std::uint8_t size_class) const noexcept {
    return std::min(cache_line_bytes << size_class, buffer_bytes_max_);
  }

  void give_payload(parcel& p, std::size_t bytes, bool slot);
  std::byte* take_buffer(std::uint8_t size_class);
  void give_back_buffer(std::byte* buffer, std::uint8_t size_class) noexcept;
  void grow();

  std::size_t buffer_bytes_max_;
  std::vector<large_array<parcel>> chunks_;
  std::vector<parcel_id> free_;  ///< the next one last
  std::array<free_buffer*, classes> free_buffers_{};
  std::vector<std::unique_ptr<std::byte[], aligned_delete>> buffer_chunks_;
};

}  // namespace amity::fabric::sim
