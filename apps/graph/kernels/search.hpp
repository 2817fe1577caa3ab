#pragma once

/// The searches, as every rank of a job runs them on its part of the graph.

#include <cstdint>
#include <functional>

#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/partition.hpp"

namespace amity::apps::graph {

template <class Distance>
struct found {
  paths<Distance> mine;      ///< of this rank's rows; parents are places
  std::uint32_t rounds = 0;  ///< levels or buckets: the same on all ranks
  cost spent;
};

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
