#pragma once

/// How an active message lies in a ring: whole cache lines, of which the first begins with one word that says all about
/// it. The word is written last; a free line begins with zero.

#include <cstddef>
#include <cstdint>

namespace amity::shmem {

inline constexpr std::size_t line_bytes = 64;

enum class record_kind : std::uint8_t {
  request,
  reply,
  skip,  ///< fills the ring up to its end, and carries nothing
};

/// The first word of a record, unpacked.
struct record {
  record_kind kind = record_kind::skip;
  bool first = true;  ///< of the fragments of its message
  bool last = true;
  std::uint32_t bytes = 0;  ///< of payload in this record; skip: the lines that it fills
  std::int32_t handler = 0;

  static constexpr std::uint32_t bytes_max = (1u << 24) - 1;

  std::uint64_t pack() const noexcept {
    return std::uint64_t{1} << 63 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 61 | std::uint64_t{first} << 60 |
           std::uint64_t{last} << 59 | std::uint64_t{bytes} << 32 | static_cast<std::uint32_t>(handler);
  }
  static record unpack(std::uint64_t word) noexcept {
    return {.kind = static_cast<record_kind>(word >> 61 & 3),
            .first = (word >> 60 & 1) != 0,
            .last = (word >> 59 & 1) != 0,
            .bytes = static_cast<std::uint32_t>(word >> 32) & bytes_max,
            .handler = static_cast<std::int32_t>(static_cast<std::uint32_t>(word))};
  }

  /// The payload begins here, aligned for any type; in front of it is the size of the whole message.
  static constexpr std::size_t payload_offset = 16;
  static constexpr std::size_t size_offset = 8;

  std::uint32_t lines() const noexcept {
    if (kind == record_kind::skip) return bytes;
    return lines_for(bytes);
  }
  static constexpr std::uint32_t lines_for(std::size_t payload_bytes) noexcept {
    return static_cast<std::uint32_t>((payload_offset + payload_bytes + line_bytes - 1) / line_bytes);
  }
};

}  // namespace amity::shmem
