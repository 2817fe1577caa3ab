#pragma once

/// What a search finds: for each vertex how far it is from the root, and the vertex before it on a shortest path.

#include <cstdint>
#include <vector>

#include "amity/base/large_array.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

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
