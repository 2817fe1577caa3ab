#pragma once

/// The words that all parts of `amity graph` share.

#include <cstdint>
#include <limits>

namespace amity::apps::graph {

/// The number of a vertex: of the whole graph as its input numbers them, or of its place in a job (store/places.hpp).
using vertex = std::uint32_t;

/// No vertex, and one more than the greatest number of vertices.
inline constexpr vertex no_vertex = ~vertex{0};

using level = std::uint32_t;  ///< edges from the root
using weight = float;         ///< the sum of the edges' lengths from the root, added up from the root on

/// The distance of what cannot be reached; greater than all others.
template <class Distance>
inline constexpr Distance unreached = std::numeric_limits<Distance>::has_infinity
                                          ? std::numeric_limits<Distance>::infinity()
                                          : std::numeric_limits<Distance>::max();

/// As an input gives it.
struct edge {
  vertex source;
  vertex target;
  float length;  ///< what a shortest path adds up: finite and not negative; 1 where the input gives none
};

}  // namespace amity::apps::graph
