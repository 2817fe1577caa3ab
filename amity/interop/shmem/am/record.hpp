#pragma once

/// How an active message, or a fragment of one, lies between two PEs.
///
/// A record is a cache line. Its first word says all about it, and is written last; then come the bytes of the whole
/// message, and the payload, if that is small. A larger payload lies in whole lines of its own, one record's behind the
/// other's: both sides know where without being told.
///
/// Records lie in a ring. The word's highest bit tells a new record from the one that lay there before it: it changes
/// each time around. So the target writes nothing here, and takes no line away from the source but by reading.

#include <cstddef>
#include <cstdint>

namespace amity::shmem {

inline constexpr std::size_t line_bytes = 64;

enum class record_kind : std::uint8_t { request, reply };

struct alignas(line_bytes) record_line {
  std::uint64_t word;
  std::uint64_t message_bytes;
  std::byte payload[line_bytes - 16];  ///< aligned for any type
};

/// The first word of a record, unpacked.
struct record {
  static constexpr std::size_t inline_bytes_max = sizeof(record_line::payload);
  static constexpr std::uint32_t bytes_max = (1u << 24) - 1;

  record_kind kind = record_kind::request;
  bool first = true;  ///< of the fragments of its message
  bool last = true;
  std::uint32_t bytes = 0;  ///< of payload in this record
  std::int32_t handler = 0;

  /// `mark`: 1 the first time around the ring, then 0, then 1, and so on.
  std::uint64_t pack(std::uint64_t mark) const noexcept {
    return mark << 63 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 62 | std::uint64_t{first} << 61 |
           std::uint64_t{last} << 60 | std::uint64_t{bytes} << 32 | static_cast<std::uint32_t>(handler);
  }
  static record unpack(std::uint64_t word) noexcept {
    return {.kind = static_cast<record_kind>(word >> 62 & 1),
            .first = (word >> 61 & 1) != 0,
            .last = (word >> 60 & 1) != 0,
            .bytes = static_cast<std::uint32_t>(word >> 32) & bytes_max,
            .handler = static_cast<std::int32_t>(static_cast<std::uint32_t>(word))};
  }
};

/// A position in a ring of records, counted from the beginning of time.
template <std::uint32_t Records>
struct record_position {
  static_assert((Records & (Records - 1)) == 0, "positions go around with their type");
  std::uint32_t number = 0;

  std::uint32_t index() const noexcept { return number % Records; }
  std::uint64_t mark() const noexcept { return (number / Records + 1) & 1; }
};

/// Where the next large payload lies: whole lines that do not go around the end.
template <std::uint32_t Lines>
struct payload_position {
  std::uint32_t number = 0;  ///< of lines, counted from the beginning of time

  /// Moves on to where a payload of `bytes` fits, and behind it; returns the index of its first line.
  std::uint32_t take(std::size_t bytes) noexcept {
    const auto lines = static_cast<std::uint32_t>((bytes + line_bytes - 1) / line_bytes);
    if (number % Lines + lines > Lines) number += Lines - number % Lines;
    const std::uint32_t index = number % Lines;
    number += lines;
    return index;
  }
};

}  // namespace amity::shmem
