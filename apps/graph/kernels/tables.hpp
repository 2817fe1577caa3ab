#pragma once

/// The data kernels that coalescing libraries are compared by: a table spread over the ranks, and messages to random
/// slots of it.

#include <cstdint>

#include "amity/amity.hpp"
#include "apps/graph/kernels/meter.hpp"

namespace amity::apps::graph {

struct table_options {
  std::uint64_t slots = 1 << 20;       ///< of each thread of each rank, 8 bytes each
  std::uint64_t updates = 10'000'000;  ///< messages, or requests, of each thread
  std::uint64_t seed = 1;
};

struct table_result {
  std::uint64_t mistakes = 0;  ///< counts that are missing, or words that are wrong, on all ranks
  cost spent;
};

/// Collective: counts random slots up, `updates` of them from each thread, and adds the table up.
table_result count_slots(world& w, const table_options& how);

/// Collective: asks for the words of random slots by a request each, which a reply answers, and looks at all of them.
table_result gather_slots(world& w, const table_options& how);

}  // namespace amity::apps::graph
