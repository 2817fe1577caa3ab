#pragma once

/// How an active message, or a fragment of one, lies between two PEs.
///
/// A record is a cache line. Its first word says all about it, and is written last; a small payload lies behind it. A
/// larger one lies in whole lines of its own, which the source chooses and the record names.
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
  std::uint64_t place;                 ///< of a larger payload
  std::byte payload[line_bytes - 16];  ///< aligned for any type
};

/// The first word of a record.
class record {
 public:
  static constexpr std::size_t inline_bytes_max = sizeof(record_line::payload);

  struct parts {
    record_kind kind = record_kind::request;
    bool first = true;  ///< of the fragments of its message
    bool last = true;
    std::size_t bytes = 0;  ///< of payload in this record
    std::int32_t handler = 0;
  };
  /// `mark`: 1 the first time around the ring, then 0, then 1, and so on.
  static std::uint64_t pack(const parts& all, std::uint64_t mark) noexcept {
    return mark << 63 | std::uint64_t{static_cast<std::uint8_t>(all.kind)} << 62 | std::uint64_t{all.first} << 61 |
           std::uint64_t{all.last} << 60 | std::uint64_t{all.bytes} << 32 | static_cast<std::uint32_t>(all.handler);
  }
  explicit record(std::uint64_t word) noexcept : word_(word) {}

  std::uint64_t mark() const noexcept { return word_ >> 63; }
  record_kind kind() const noexcept { return static_cast<record_kind>(word_ >> 62 & 1); }
  bool first() const noexcept { return (word_ >> 61 & 1) != 0; }
  bool last() const noexcept { return (word_ >> 60 & 1) != 0; }
  bool whole() const noexcept { return (word_ >> 60 & 3) == 3; }
  std::uint32_t bytes() const noexcept { return static_cast<std::uint32_t>(word_ >> 32) & bytes_max; }
  std::int32_t handler() const noexcept { return static_cast<std::int32_t>(static_cast<std::uint32_t>(word_)); }

 private:
  static constexpr std::uint32_t bytes_max = (1u << 24) - 1;

  std::uint64_t word_;
};

/// A position in a ring of records, counted from the beginning of time.
template <std::uint32_t Records>
struct record_position {
  static_assert((Records & (Records - 1)) == 0, "positions go around with their type");
  std::uint32_t number = 0;

  std::uint32_t index() const noexcept { return number % Records; }
  std::uint64_t mark() const noexcept { return (number / Records + 1) & 1; }
};

/// Where a payload lies that is larger than a record, and what it is a part of.
struct payload_place {
  std::uint32_t line = 0;
  std::uint64_t message_bytes = 0;

  static constexpr int line_shift = 48;
  std::uint64_t pack() const noexcept { return std::uint64_t{line} << line_shift | message_bytes; }
  static payload_place unpack(std::uint64_t word) noexcept {
    return {.line = static_cast<std::uint32_t>(word >> line_shift),
            .message_bytes = word & ((std::uint64_t{1} << line_shift) - 1)};
  }
};

/// How the source hands out the lines for payloads. They come back in the order in which they were taken.
///
/// Those that were used last are in the caches: it begins anew whenever nothing is under way, and as soon as it can
/// behind `Near` lines, so that it goes farther only where the target is late.
template <std::uint32_t Lines, std::uint32_t Near>
struct payload_space {
  static_assert(Lines <= 1u << 16, "a place has 16 bits for the line");
  static constexpr std::uint32_t nowhere = Lines;
  std::uint32_t end = 0;  ///< of the one that was taken last

  /// Where `lines` are free while those from `begin` to the end are not; those may go around.
  std::uint32_t find(std::uint32_t lines, std::uint32_t begin) const noexcept {
    if (end < begin) return end + lines < begin ? end : nowhere;
    const bool fits = end + lines <= Lines;
    if (lines < begin && (end >= Near || !fits)) return 0;
    return fits ? end : nowhere;
  }
};

}  // namespace amity::shmem
