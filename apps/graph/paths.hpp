#pragma once

/// What a search finds: for each vertex how far it is from the root, and the vertex before it on a shortest path.

#include <cstdint>
#include <limits>
#include <vector>

#include "amity/base/large_array.hpp"
#include "apps/graph/labels.hpp"

namespace amity::apps::graph {

using level = std::uint32_t;  ///< edges from the root
using length = float;         ///< sum of the edges' lengths from the root, added up from the root on

/// The distance of what cannot be reached; greater than all others.
template <class Distance>
inline constexpr Distance unreached = std::numeric_limits<Distance>::has_infinity
                                          ? std::numeric_limits<Distance>::infinity()
                                          : std::numeric_limits<Distance>::max();

template <class Distance>
struct paths {
  large_array<Distance> distance;
  large_array<vertex> parent;  ///< the root is its own; `no_vertex` where unreached
};

template <class Distance>
paths<Distance> nothing_reached(std::size_t vertices) {
  return {large_array<Distance>(vertices, unreached<Distance>), large_array<vertex>(vertices, no_vertex)};
}

}  // namespace amity::apps::graph
