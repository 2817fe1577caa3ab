#pragma once

/// What a person wants to know of a search's answer, which no rank has as a whole.

#include <cstdint>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// How many vertices lie at distances from `from` on, up to the next bin's.
struct bin {
  double from;
  std::uint64_t vertices;
};

/// A shortest path, from the root on.
template <class Distance>
struct route {
  Distance distance;
  std::vector<vertex> steps;
};

template <class Distance>
struct search_summary {
  std::uint64_t reached = 0;              // known on all ranks
  std::uint64_t arcs_traversed = 0;       // that leave vertices that were reached; on all ranks
  std::vector<bin> histogram;             // on rank 0, as the rest
  std::vector<route<Distance>> farthest;  // farthest first, equally far ones by their numbers
};

/// Collective. With the `top` farthest vertices.
template <class Arc, class Distance>
search_summary<Distance> summarise(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found,
                                   std::uint64_t top);

}  // namespace amity::apps::graph
