#pragma once

/// Small segments in common chunks of the memory file, so that a process maps many of them at once: Linux limits the
/// mappings of a process to 65,530 by default.

#include <cstddef>
#include <map>
#include <optional>

#include "amity/fabric/shm/file_mapping.hpp"

namespace amity::fabric::shm {

/// Whole pages of chunks of 2 MiB: which of them are free. It touches no memory.
class page_space {
 public:
  static constexpr std::size_t chunk_bytes = huge_page_bytes;
  static constexpr std::size_t page_bytes = 4096;
  /// Larger segments do not share a chunk.
  static constexpr std::size_t bytes_max = chunk_bytes / 8;

  static std::size_t chunk_of(std::size_t offset) noexcept { return offset / chunk_bytes * chunk_bytes; }

  /// A piece of a chunk that was added, by its offset; none: no chunk has so many pages in a row.
  std::optional<std::size_t> take(std::size_t bytes);
  void give_back(std::size_t offset, std::size_t bytes);
  /// `offset` is a multiple of `chunk_bytes`.
  void add_chunk(std::size_t offset) { free_.emplace(offset, chunk_bytes); }

 private:
  std::map<std::size_t, std::size_t> free_;  ///< sizes by offset; no two adjoin within a chunk
};

}  // namespace amity::fabric::shm
