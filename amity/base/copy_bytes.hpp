#pragma once

/// A copy of any size for memory that is read soon after, usually by another core.

#include <cstddef>
#include <cstring>

namespace amity {
namespace detail {

/// Copies by `memcpy` in pieces. C libraries write large blocks past the caches, which is right for data that is not
/// read soon; a mebibyte that stays in the caches arrives in two thirds of the time.
void copy_in_pieces(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies a block of `block_bytes_min` or more in the way that is fast on this processor.
void copy_block(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// From this size on, C libraries copy by the string instructions of the processor.
inline constexpr std::size_t block_bytes_min = 4096;

}  // namespace detail

/// Copies as `memcpy` does. If `bytes` is 0, the pointers can be any.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes >= detail::block_bytes_min) return detail::copy_block(to, from, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace amity
