#pragma once

/// The words that all parts of `amity graph` share.

#include <concepts>
#include <cstdint>
#include <limits>

namespace amity::apps::graph {

/// The number of a vertex: of the whole graph as its input numbers them, or of its place in a job (store/places.hpp).
using vertex = std::uint32_t;

/// No vertex, and one more than the greatest number of vertices.
inline constexpr vertex no_vertex = ~vertex{0};

using level = std::uint32_t;  ///< edges from the root

/// The type of an edge's weight, and of the sum of weights along a path: int64, double or float32.
template <class Type>
concept weight = std::same_as<Type, std::int64_t> || std::same_as<Type, double> || std::same_as<Type, float>;

/// The distance of what cannot be reached; greater than all others.
template <class Distance>
inline constexpr Distance unreached = std::numeric_limits<Distance>::has_infinity
                                          ? std::numeric_limits<Distance>::infinity()
                                          : std::numeric_limits<Distance>::max();

/// Adds weights or distances that are not negative. A sum that exceeds the type is `unreached`.
template <weight Weight>
constexpr Weight path_sum(Weight distance, Weight length) {
  if constexpr (std::integral<Weight>) {
    const auto sum = static_cast<std::uint64_t>(distance) + static_cast<std::uint64_t>(length);
    constexpr auto most = static_cast<std::uint64_t>(unreached<Weight>);
    return static_cast<Weight>(sum < most ? sum : most);
  } else {
    return distance + length;
  }
}

template <weight Weight>
struct weighted_edge {
  vertex source;
  vertex target;
  Weight length;  ///< what a shortest path adds up: finite and not negative; 1 where the input gives none
};

/// As generators make it, by Graph500's specification.
using edge = weighted_edge<float>;

}  // namespace amity::apps::graph
