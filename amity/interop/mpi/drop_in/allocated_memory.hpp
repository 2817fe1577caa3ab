#pragma once

/// Memory of MPI_Alloc_mem: other processes of the node can map it, so windows on it are as fast as allocated ones.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/segment.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"

namespace amity::mpi {

/// Small pieces have sizes that are powers of 2, and share segments, which stay. Others have a segment each. Any thread
/// of the program may call it.
class allocated_memory : private immovable {
 public:
  explicit allocated_memory(job& in) : job_(in) {}

  /// `bytes` > 0; `alignment` is a power of 2. Null: there is no more memory of this kind.
  void* allocate(std::size_t bytes, std::size_t alignment);
  /// Returns false if `allocate` has not returned this address.
  bool free(const void* base);
  /// The segment that contains these bytes; nothing: they do not belong to this memory.
  std::optional<core::local_segment> find(const void* base, std::size_t bytes) const;

 private:
  static constexpr int small_log2_min = 6, small_log2_max = 16;
  static constexpr std::size_t shared_bytes = std::size_t{4} << small_log2_max;  ///< of a segment for small pieces
  static constexpr int has_own_segment = 0;

  std::byte* add_segment(std::size_t bytes);
  std::byte* take_small(int log2);

  job& job_;
  std::map<const std::byte*, core::local_segment> segments_;  ///< by their beginnings
  std::unordered_map<const void*, int> given_;  ///< the binary logarithm of the size, or `has_own_segment`
  std::array<std::vector<std::byte*>, small_log2_max + 1> unused_;  ///< small pieces, by binary logarithm
};

}  // namespace amity::mpi
