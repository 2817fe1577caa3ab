#pragma once

/// Breadth-first search by levels of a random graph on all ranks: the kernel whose messages come in waves.

#include <cstdint>

#include "amity/amity.hpp"
#include "bench/harness.hpp"

namespace amity::bench {

struct search_plan {
  std::uint64_t vertices;  ///< a power of two
  std::uint64_t degree;    ///< arcs that leave each vertex, to vertices at random
  std::uint64_t settling;  ///< searches before those that count
  std::uint64_t searches;  ///< of which the median counts

  arguments to_arguments() const;
  static search_plan from(const arguments& args);
};

/// Measures `m_per_s`, millions of arcs followed per second, and `packet_bytes`, the mean size of the last search's
/// packets. Each search begins at another vertex; the first one is compared with a sequential search.
sample measure_searches(world& w, const search_plan& plan, coalesce packets);

}  // namespace amity::bench
