#pragma once

/// The symmetric heap: how large it is to be, and which of its parts are taken.
///
/// Each PE keeps its own books, outside of the heap, where no peer's stray put reaches them. The same calls give the
/// same offsets: that makes the heap symmetric.

#include <cstddef>
#include <map>
#include <optional>

namespace amity::shmem {

/// SHMEM_SYMMETRIC_SIZE, or SMA_SYMMETRIC_SIZE as it was once called: bytes, with a K, M, G or T behind if need be.
/// Memory is taken only where it is touched. Throws `error` for what is no size.
std::size_t heap_bytes_wanted();

class symmetric_heap {
 public:
  static constexpr std::size_t alignment_min = 64;  ///< no two objects share a cache line

  explicit symmetric_heap(std::size_t bytes);

  /// The largest alignment of an object, which the heap itself must have: that of a huge page of 2 MiB, or what the
  /// whole heap has space for, at most 1 GiB.
  std::size_t alignment_max() const noexcept { return alignment_max_; }

  /// The offset of `bytes` > 0 at a multiple of `alignment`, a power of two up to `alignment_max()`; nothing: there is
  /// no such space.
  std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment = alignment_min);

  /// Bytes of what was taken at `offset`; 0: nothing was.
  std::size_t size_at(std::size_t offset) const;

  /// Gives back what was taken at `offset`.
  void give_back(std::size_t offset);

 private:
  std::size_t alignment_max_;
  std::map<std::size_t, std::size_t> free_;   ///< bytes by offset; no two touch
  std::map<std::size_t, std::size_t> taken_;  ///< likewise, but they may touch
};

}  // namespace amity::shmem
