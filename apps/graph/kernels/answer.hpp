#pragma once

/// What a search gives back.

#include <cstdint>
#include <functional>
#include <vector>

#include "apps/graph/kernels/meter.hpp"
#include "apps/graph/kernels/paths.hpp"

namespace amity::apps::graph {

/// Told after each round of a search: which one, and how many vertices have been reached or settled so far, on all
/// ranks.
using observer = std::function<void(std::uint32_t round, std::uint64_t vertices)>;

template <class Distance>
struct answer {
  std::vector<paths<Distance>> parts;  ///< of this rank's threads, by rows; parents are places
  std::uint32_t rounds = 0;            ///< levels or buckets: the same on all ranks
  cost spent;
};

}  // namespace amity::apps::graph
