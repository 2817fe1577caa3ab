#pragma once

/// The searches, as every rank of a job runs them on its part of the graph.

#include <cstdint>
#include <functional>

#include "apps/graph/kernels/meter.hpp"
#include "apps/graph/kernels/paths.hpp"
#include "apps/graph/store/partition.hpp"

namespace amity::apps::graph {

/// Told after each round of a search: which one, and how many vertices have been reached or settled so far.
using observer = std::function<void(std::uint32_t round, std::uint64_t vertices)>;

template <class Distance>
struct found {
  paths<Distance> mine;      ///< of this rank's rows; parents are places
  std::uint32_t rounds = 0;  ///< levels or buckets: the same on all ranks
  cost spent;
};

/// Collective: breadth-first search from the place `root`.
found<level> bfs(world& w, const partition<vertex>& graph, vertex root, const observer& watch);

/// A rank's part of a graph, made ready for delta-stepping.
struct stepping_graph {
  share own;
  weight delta;        ///< width of a bucket
  weight longest_arc;  ///< of the whole graph
  csr<arc> light;      ///< the arcs shorter than delta
  csr<arc> heavy;      ///< the others
};

/// Collective. `delta` 0: chosen from the lengths.
stepping_graph prepare_stepping(world& w, const partition<arc>& graph, weight delta);

/// Collective: single-source shortest paths from the place `root`.
found<weight> sssp(world& w, const stepping_graph& graph, vertex root, const observer& watch);

}  // namespace amity::apps::graph
