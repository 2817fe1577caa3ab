#pragma once

/// The result of a Graph500 run, in the words of its reference code, so that its users' tools read it.

#include <cstdint>
#include <string>
#include <vector>

#include "amity/amity.hpp"

namespace amity::apps::graph {

/// The searches of one kernel, one from each root.
struct graph500_searches {
  std::string kernel;                    ///< "bfs" or "sssp"
  std::vector<double> seconds;           ///< of each search
  std::vector<double> validate_seconds;  ///< of each check; empty: nothing was checked
};

struct graph500_result {
  int scale;
  std::uint32_t edge_factor;
  double generation_seconds;
  double construction_seconds;
  rank_t ranks;
  std::vector<double> edges;  ///< traversed from each root (`traversed_edges`)
  std::vector<graph500_searches> kernels;
};

/// Lines of a key, filled with blanks to 32 letters, and a value.
std::string to_text(const graph500_result& result);

}  // namespace amity::apps::graph
