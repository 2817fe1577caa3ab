#pragma once

/// The result of a Graph500 run, in the words of its reference code, so that its users' tools read it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amity/amity.hpp"

namespace amity::apps::graph {

/// The searches of one kernel, one from each root.
struct graph500_searches {
  std::string kernel;                         ///< "bfs" or "sssp"
  std::string weight_type = {};               ///< empty: weights are not used
  std::vector<double> seconds = {};           ///< of each search
  std::vector<double> validate_seconds = {};  ///< of each check; empty: nothing was checked
};

struct graph500_result {
  int scale;
  std::uint32_t edge_factor;
  double generation_seconds;
  double construction_seconds;
  rank_t ranks;
  std::uint64_t input_edges;  ///< of the graph
  std::vector<double> edges;  ///< traversed from each root (`traversed_edges`)
  std::vector<graph500_searches> kernels;
};

/// Roots whose component has less than this share of the edges are in a small component. The specification allows
/// them: the reference code draws roots from all vertices with an edge. A search of a component of one edge takes as
/// long as its rounds do, so that one such root decides the harmonic mean.
inline constexpr double small_component_share = 0.01;

/// For each root, whether it is in a small component.
std::vector<bool> in_small_components(const graph500_result& result);

/// The harmonic mean of TEPS without the roots in small components; nothing if there are no others.
std::optional<double> harmonic_mean_without_small(const graph500_result& result, const graph500_searches& searches);

/// Lines of a key, filled with blanks to 32 letters, and a value. Lines that the reference code does not print are the
/// last ones.
std::string to_text(const graph500_result& result);

}  // namespace amity::apps::graph
