#pragma once

/// Which part of a job owns a vertex. A part is what one thread of one rank has of a graph.

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "apps/graph/store/permutation.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

enum class distribution {
  block,   ///< contiguous numbers: for inputs whose neighbours have near numbers
  cyclic,  ///< one to each part in turn
  hash,    ///< contiguous blocks of scrambled numbers: even whatever the numbers mean
};

/// "block", "cyclic" or "hash"; nothing for another word.
std::optional<distribution> parse_distribution(std::string_view word);
std::string_view name_of(distribution kind);

/// Deals the vertices 0 to count-1 out to parts. A vertex's slot counts those of its part.
class dealing {
 public:
  dealing(distribution kind, vertex count, std::uint32_t parts);

  distribution kind() const { return kind_; }
  vertex count() const { return count_; }
  std::uint32_t parts() const { return parts_; }

  std::uint32_t part(vertex v) const {
    if (kind_ == distribution::cyclic) return mask_ ? v & *mask_ : v % parts_;
    return (kind_ == distribution::block ? v : scramble_(v)) / block_;
  }
  vertex slot(vertex v) const {
    if (kind_ == distribution::cyclic) return v / parts_;
    return (kind_ == distribution::block ? v : scramble_(v)) % block_;
  }
  /// The vertex in a slot that a part has.
  vertex at(std::uint32_t part, vertex slot) const {
    if (kind_ == distribution::cyclic) return slot * parts_ + part;
    const vertex number = part * block_ + slot;
    return kind_ == distribution::block ? number : scramble_.inverse(number);
  }
  vertex count_of(std::uint32_t part) const;
  /// Slots of the largest part.
  vertex largest() const { return count_of(0); }

 private:
  distribution kind_;
  vertex count_;
  std::uint32_t parts_;
  std::optional<std::uint32_t> mask_;  ///< where the number of parts is a power of two
  vertex block_;
  permutation scramble_;  ///< of numbers; for distribution by hash
};

}  // namespace amity::apps::graph
