#pragma once

/// The searches as a textbook has them, on one thread: the reference for what the ranks of a job find together.

#include <span>
#include <utility>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/csr.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph::testing {

csr<arc> whole_graph(vertex vertices, std::span<const edge> edges, bool undirected);

/// Breadth-first search with a queue.
paths<level> sequential_bfs(const csr<arc>& graph, vertex root);

/// Dijkstra's algorithm with a binary heap. Lengths are not negative.
paths<weight> sequential_sssp(const csr<arc>& graph, vertex root);

/// Collective: the place of each vertex.
template <class Arc>
std::vector<vertex> all_places(world& w, const distributed_graph<Arc>& graph) {
  std::vector<vertex> place_of(graph.vertices());
  auto tell = w.message<std::pair<vertex, vertex>>(
      [&](const std::pair<vertex, vertex>& told) { place_of[told.first] = told.second; }, coalesce{});
  w.epoch([&] {
    for (const auto& part : graph.parts) {
      for (vertex row = 0; row < part.size(); ++row) {
        for (rank_t rank = 0; rank < w.size(); ++rank) tell.send(rank, {part.vertex_of[row], part.first + row});
      }
    }
  });
  return place_of;
}

/// An answer for the whole graph, as a search would give this rank's parts of it.
template <class Arc, class Distance>
answer<Distance> in_parts(const distributed_graph<Arc>& graph, const std::vector<vertex>& place_of,
                          const paths<Distance>& whole) {
  answer<Distance> result;
  for (const auto& part : graph.parts) {
    paths<Distance>& own = result.parts.emplace_back(nothing_reached<Distance>(part.size()));
    for (vertex row = 0; row < part.size(); ++row) {
      const vertex parent = whole.parent[part.vertex_of[row]];
      own.distance[row] = whole.distance[part.vertex_of[row]];
      own.parent[row] = parent < place_of.size() ? place_of[parent] : parent;
    }
  }
  return result;
}

}  // namespace amity::apps::graph::testing
