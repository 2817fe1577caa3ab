#pragma once

/// What active messages send between the members of a window.

#include <cstddef>
#include <cstdint>

#include "amity/window/am_buffers.hpp"
#include "amity/window/am_description.hpp"

namespace amity::detail {

/// Which memory of the target a unit takes.
enum class am_space : std::uint8_t {
  system,   ///< the part of the system buffer that belongs to the origin
  owed,     ///< buffers, within what is guaranteed to the origin
  granted,  ///< buffers; the target has reserved it
  chosen,   ///< buffers; the origin holds the lock exclusively, and has chosen it from a list
  credit,   ///< buffers; the target keeps it for the origin
};

constexpr bool names_room(am_space space) noexcept { return space >= am_space::granted; }

/// In a record `am_unit`, before the input, without `same_kind_bit`; an `am_room` follows if the space names it,
/// without `same_room_bit`. `record::op` is the space, and `record::at` the offset of the persistent memory. Further
/// input follows in records `am_part`, whose `record::at` is its offset in the packed input; they have the same
/// question.
struct am_unit_head {
  std::uint32_t description;
  std::uint32_t segments;
};

/// No number of a description.
inline constexpr std::uint32_t no_description = ~std::uint32_t{0};

/// In `record::word_bytes` of a unit. A target refuses all units after one that it has refused because of space, up to
/// the first that is sent again: so messages stay in order.
inline constexpr std::uint8_t restarts_bit = 1;   ///< it is the first that is sent again
inline constexpr std::uint8_t same_room_bit = 2;  ///< it lies in the room of the last unit that came with its room
inline constexpr std::uint8_t same_kind_bit = 4;  ///< one segment, with the description of the last unit

/// In a record `am_ask`: space for as many of these segments as fit.
struct am_ask {
  std::uint32_t number;  ///< which the answer contains
  std::uint32_t description;
  std::uint32_t segments;
  std::uint32_t is_ahead;  ///< other units are under way: only credit is wanted, and the answer comes at once
  std::uint64_t usable;    ///< bytes of input and output that the origin could use
};

/// In a record `am_credited`, before an `am_free` for each buffer of which the origin has more or less credit than
/// before.
struct am_credited {
  std::uint32_t number;  ///< of the request that it answers; 0: none
  std::uint32_t unused = 0;
};

/// In a record `am_granted`.
struct am_grant {
  std::uint32_t number;
  std::uint32_t segments;
  am_room room;
};

/// In a record `am_refused`, in front of a text.
struct am_refusal {
  enum class reason : std::uint32_t {
    no_room,  ///< the space of a unit was withdrawn, or of one before it: it has not been carried out
    promise,  ///< the buffer of a unit was detached, and the program had promised not to do that
    owed,     ///< less is attached than is guaranteed to origins
    buffer,   ///< of a request: buffers that are attached can never hold a segment
    handler,  ///< the handler has failed
    counts,   ///< the handler has set counts that are too large
    place,    ///< the persistent memory is not attached
  };

  std::uint32_t number;  ///< the question of a unit, or the number of a request
  reason why;
  std::uint32_t is_unit;
  std::uint32_t unused = 0;
};

/// In front of the answer to a unit of a vector message. The counts of its segments follow, filled up to whole words,
/// and then the output.
struct am_vector_head {
  std::uint32_t is_packed;  ///< the output has only the elements that the counts say
  std::uint32_t unused = 0;
};

inline am_need need_of(const am_description& what, std::uint64_t segments) noexcept {
  return {.input = segments * what.input.footprint, .output = segments * what.output.footprint};
}

constexpr std::size_t am_counts_bytes(std::size_t segments) noexcept { return (segments * 4 + 7) / 8 * 8; }

}  // namespace amity::detail
