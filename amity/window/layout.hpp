#pragma once

/// Where the data of a transfer lies in memory: blocks of bytes, and how often their pattern is repeated.
///
/// A layout is a value without an address. Offsets are bytes from the address that a call names with it; they may be
/// negative. Data has an order, that of the blocks, in which it is packed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"

namespace amity {

namespace detail {
/// The byte at an offset, by arithmetic of integers: the base is null if offsets are addresses.
inline std::byte* byte_at(const std::byte* base, std::uint64_t offset) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + offset);
}
}  // namespace detail

class layout {
 public:
  struct block {
    std::ptrdiff_t offset;
    std::size_t bytes;
    bool operator==(const block&) const = default;
  };

  /// Nothing.
  layout() = default;
  static layout contiguous(std::size_t bytes);
  /// `count` blocks of `block_bytes`, whose beginnings are `stride` bytes apart.
  static layout strided(std::size_t count, std::size_t block_bytes, std::ptrdiff_t stride);
  /// Blocks without data are left out, and blocks that follow one another without a gap become one.
  static layout indexed(const std::vector<block>& blocks);

  /// This layout `count` times, `stride` bytes apart.
  layout repeated(std::size_t count, std::ptrdiff_t stride) const;
  /// This layout with `bytes` added to each offset.
  layout moved(std::ptrdiff_t bytes) const;

  /// The data, without gaps.
  std::size_t bytes() const noexcept { return pattern_bytes() * count_; }
  /// One block, or nothing.
  bool is_contiguous() const noexcept { return blocks_.size() * count_ <= 1; }
  /// All data lies from `first()` to `end()`; both are 0 if there is none.
  std::ptrdiff_t first() const noexcept { return first_; }
  std::ptrdiff_t end() const noexcept { return end_; }

  /// Calls `visit(offset, bytes)` for the blocks, or parts of them, that have the data from byte `from` on.
  template <class Visit>
  void for_each(std::size_t from, std::size_t bytes, Visit&& visit) const {
    if (bytes == 0) return;
    std::size_t repetition = from / pattern_bytes();
    std::size_t at = from % pattern_bytes();
    auto index = static_cast<std::size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
    for (;;) {
      const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
      const std::size_t part = std::min(bytes, ends_[index] - at);
      visit(blocks_[index].offset + static_cast<std::ptrdiff_t>(repetition) * stride_ +
                static_cast<std::ptrdiff_t>(at - begin),
            part);
      bytes -= part;
      if (bytes == 0) return;
      at = ends_[index++];
      if (index < blocks_.size()) continue;
      index = at = 0;
      ++repetition;
    }
  }

  /// The greatest number that divides the offset of each block; 0: all are 0.
  std::size_t offset_grain() const noexcept { return offset_grain_; }
  /// The greatest number that divides the size of each block; 0: there are none.
  std::size_t size_grain() const noexcept { return size_grain_; }

  /// Copies data from byte `from` on to `to`, and back; the data must have so much. `base` is the address of the
  /// layout.
  void pack(const std::byte* base, std::size_t from, mutable_bytes to) const noexcept;
  void unpack(std::byte* base, std::size_t from, bytes_view data) const noexcept;

  /// The layout as bytes for another rank: 24, and 16 for each block.
  std::vector<std::byte> encode() const;
  /// Throws `error` for bytes that are no layout.
  static layout decode(bytes_view encoded);

  bool operator==(const layout&) const = default;

 private:
  layout(std::vector<block> blocks, std::size_t count, std::ptrdiff_t stride);
  /// Calls `copy(packed, memory, bytes)` for parts of the data, with a constant for `bytes` if that is faster.
  template <class Byte, class Copy>
  void copy_parts(const std::byte* base, std::size_t from, std::span<Byte> packed, Copy copy) const noexcept;
  /// Does this for whole blocks, all of `Bytes` bytes.
  template <std::size_t Bytes, class Byte, class Copy>
  void copy_blocks(const std::byte* base, std::size_t from, std::span<Byte> packed, Copy copy) const noexcept;
  std::size_t pattern_bytes() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  std::vector<block> blocks_;      ///< the pattern
  std::vector<std::size_t> ends_;  ///< of each block, in the data of the pattern
  std::size_t count_ = 0;          ///< repetitions
  std::ptrdiff_t stride_ = 0;      ///< between them
  std::ptrdiff_t first_ = 0;
  std::ptrdiff_t end_ = 0;
  std::size_t offset_grain_ = 0;
  std::size_t size_grain_ = 0;
  std::size_t block_bytes_ = 0;  ///< of each block; 0: they differ, or there are none
};

}  // namespace amity
