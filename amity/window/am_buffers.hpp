#pragma once

/// The memory that a target has attached for active messages, and which of it is in use.
///
/// A unit takes space for its input and its output together, or none. Each of the two lies in one buffer. What counts
/// is bytes alone: input and output have no headers and no padding. So space is a number for each buffer, and where in
/// the buffer a unit lies is decided when its data arrives; if the free bytes are in several pieces, or alignment needs
/// padding, the data lies elsewhere.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::detail {

/// Space for the input and the output of a unit, by the numbers of their buffers.
struct am_room {
  static constexpr std::uint32_t no_buffer = 0;

  std::uint32_t input_buffer = no_buffer;
  std::uint32_t output_buffer = no_buffer;
  bool operator==(const am_room&) const = default;
};

/// Free bytes of a buffer.
struct am_free {
  std::uint32_t buffer;
  std::uint32_t unused = 0;
  std::uint64_t bytes;
};

/// Bytes of input and output, for a number of segments.
struct am_need {
  std::uint64_t input;
  std::uint64_t output;
};

/// Calls `apply` with each buffer of a unit, and the bytes that it takes there.
template <class Apply>
void for_each_part(const am_need& of_unit, const am_room& where, const Apply& apply) {
  if (where.input_buffer == where.output_buffer) return apply(where.input_buffer, of_unit.input + of_unit.output);
  apply(where.input_buffer, of_unit.input);
  apply(where.output_buffer, of_unit.output);
}

/// How many segments fit, at most `segments_max`, and where. 0: not one.
struct am_fit {
  std::uint64_t segments = 0;
  am_room where{};
};
am_fit find_fit(const std::vector<am_free>& free, const am_need& of_segment, std::uint64_t segments_max);

class am_buffers final {
 public:
  /// Numbers begin with 1 and are not used again. Null if the memory overlaps a buffer; `memory` is not empty.
  bool try_attach(mutable_bytes memory);
  enum class detaching : std::uint8_t { done, unknown, in_use, owed };
  /// In use: a unit has space there. Owed: the others have fewer bytes than are owed.
  detaching try_detach(const void* base);
  bool has(std::uint32_t buffer) const noexcept;

  /// Space that is owed to origins, which use it without a request.
  void owe(std::uint64_t bytes) noexcept { owed_ += bytes; }
  std::uint64_t bytes_owed() const noexcept { return owed_; }

  /// Space that is kept for origins that send, more or less than before. Others use it only where that is said.
  void keep(std::uint32_t buffer, std::uint64_t bytes) noexcept;
  void keep_less(std::uint32_t buffer, std::uint64_t bytes) noexcept;
  /// A unit takes bytes that were kept for its origin.
  void use_kept(std::uint32_t buffer, std::uint64_t bytes) noexcept;
  /// It gives them back, of which so many are kept again.
  void give_back_kept(std::uint32_t buffer, std::uint64_t bytes, std::uint64_t kept) noexcept;
  /// Bytes that are kept, and that units of others have taken since.
  std::uint64_t kept_too_much(std::uint32_t buffer) const noexcept;

  /// Space for as many segments as possible, at most `segments_max`, which is taken. It leaves what is owed or kept.
  am_fit try_take(const am_need& of_segment, std::uint64_t segments_max);
  /// Takes space for a unit from what is owed, also if it was kept. False: so much is not attached.
  bool try_take_owed(const am_need& of_unit, am_room& where);
  /// Takes space that an origin has chosen from a list of all, also if it was kept. False: a buffer was detached.
  bool try_take_there(const am_need& of_unit, const am_room& where);
  /// Takes space that is free, in buffers that are attached.
  void use(const am_need& of_unit, const am_room& where) noexcept;
  void give_back(const am_need& of_unit, const am_room& where, bool was_owed) noexcept;

  /// Whether a segment would fit if no space was in use.
  bool can_ever_fit(const am_need& of_segment) const;
  /// Whether a unit would fit if no space was in use, also in what is owed.
  bool would_fit(const am_need& of_unit) const;
  /// Free space of each buffer, without what is owed and what is kept.
  std::vector<am_free> free() const { return free(true); }
  /// Free space of each buffer, without what is owed.
  std::vector<am_free> free_or_kept() const { return free(false); }
  /// Whether as much is attached as is owed.
  bool has_all_owed() const noexcept { return bytes_attached() >= owed_; }
  std::uint64_t bytes_attached() const noexcept;
  std::uint64_t bytes_free() const noexcept;
  std::uint64_t bytes_largest() const noexcept;

  /// A place of these bytes in the buffer; null: there is none in one piece, or the buffer was detached.
  std::byte* try_place(std::uint32_t buffer, std::uint64_t bytes, std::uint64_t alignment);
  void remove_place(std::uint32_t buffer, const std::byte* place) noexcept;

 private:
  struct piece {
    std::byte* begin;
    std::uint64_t bytes;
  };
  struct buffer {
    std::uint32_t number;
    mutable_bytes memory;
    std::uint64_t used;         ///< bytes
    std::uint64_t kept;         ///< bytes that are not used
    std::vector<piece> pieces;  ///< that units lie in, by address
  };

  buffer* find(std::uint32_t number) noexcept;
  std::vector<am_free> free(bool leaves_kept) const;
  std::uint64_t owed_left() const noexcept { return owed_ - std::min(owed_, owed_used_); }

  std::vector<buffer> buffers_;
  std::uint32_t last_number_ = am_room::no_buffer;
  std::uint64_t owed_ = 0;
  std::uint64_t owed_used_ = 0;
};

}  // namespace amity::detail
