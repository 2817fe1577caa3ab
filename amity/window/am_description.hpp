#pragma once

/// What all units of an active message have in common. It travels once to each target.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/window/layout.hpp"

namespace amity::detail {

/// The input or the output at the target.
struct am_side {
  std::uint64_t packed_bytes = 0;  ///< of a segment, without gaps, as it travels
  std::uint64_t footprint = 0;     ///< memory that a segment takes, and distance between two segments
  std::uint64_t overhang = 0;      ///< memory behind the last segment that its layout also uses
  std::int64_t first = 0;          ///< where the memory of a segment begins, relative to the address of its layout
  std::uint64_t alignment = 1;     ///< of that memory, a power of two
  std::shared_ptr<const layout> blocks{};  ///< of a segment; null: the data is contiguous

  bool operator==(const am_side& other) const noexcept {
    return packed_bytes == other.packed_bytes && footprint == other.footprint && overhang == other.overhang &&
           first == other.first && alignment == other.alignment &&
           (blocks == other.blocks || (blocks != nullptr && other.blocks != nullptr && *blocks == *other.blocks));
  }
};

struct am_description {
  std::uint32_t operation = 0;
  /// Elements that a segment of the output of a vector message has at most. 0: it is a plain message.
  std::uint32_t count_max = 0;
  am_side input{};
  am_side output{};
  std::uint64_t persistent_bytes = 0;  ///< from the offset that each unit names
  std::vector<std::byte> extra{};      ///< of the interface that has sent it

  /// Memory of a unit at the target. It is all that counts there.
  std::uint64_t footprint() const noexcept { return input.footprint + output.footprint; }
  bool is_vector() const noexcept { return count_max > 0; }
  std::uint64_t element_bytes() const noexcept { return is_vector() ? output.packed_bytes / count_max : 0; }

  std::vector<std::byte> encode() const;
  /// Throws `error` for invalid bytes.
  static am_description decode(bytes_view encoded);

  bool operator==(const am_description&) const = default;
};

/// A message of the program. What it names stays as it is until the message is complete.
struct am_message {
  std::shared_ptr<const am_description> what{};
  std::uint64_t at = 0;                           ///< of the persistent memory, in the window
  std::uint32_t index_bytes = 1;                  ///< as in `window_operation`
  std::size_t segments = 0;                       ///< at least 1
  const std::byte* input = nullptr;               ///< address of `input_blocks`, or of the data
  std::shared_ptr<const layout> input_blocks{};   ///< of all segments; null: contiguous
  std::byte* output = nullptr;                    ///< as `input`
  std::shared_ptr<const layout> output_blocks{};  ///< as `input_blocks`
  std::uint32_t* output_counts = nullptr;         ///< of a vector message, for each segment
  std::int64_t* large_output_counts = nullptr;    ///< in place of `output_counts`
};

}  // namespace amity::detail
