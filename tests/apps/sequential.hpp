#pragma once

/// The searches as a textbook has them, on one thread: the reference for what the ranks of a job find together.

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/csr.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph::testing {

template <weight Weight>
csr<weighted_arc<Weight>> whole_graph(vertex vertices, const std::vector<weighted_edge<Weight>>& edges,
                                      bool undirected) {
  using arc_type = weighted_arc<Weight>;
  return csr<arc_type>(vertices, [&](auto visit) {
    for (const auto& e : edges) {
      visit(e.source, arc_type{e.target, e.length});
      if (undirected) visit(e.target, arc_type{e.source, e.length});
    }
  });
}

/// Breadth-first search with a queue.
inline paths<level> sequential_bfs(const csr<arc>& graph, vertex root) {
  auto found = nothing_reached<level>(graph.rows());
  found.distance[root] = 0;
  found.parent[root] = root;
  std::vector<vertex> queue{root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const vertex source = queue[head];
    for (const arc& a : graph[source]) {
      const vertex target = a.target;
      if (found.distance[target] != unreached<level>) continue;
      found.distance[target] = found.distance[source] + 1;
      found.parent[target] = source;
      queue.push_back(target);
    }
  }
  return found;
}

/// Dijkstra's algorithm with a binary heap. Weights are not negative; distances have the type of the weights.
template <weight Weight>
paths<Weight> sequential_sssp(const csr<weighted_arc<Weight>>& graph, vertex root) {
  auto found = nothing_reached<Weight>(graph.rows());
  found.distance[root] = 0;
  found.parent[root] = root;
  using entry = std::pair<Weight, vertex>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> heap;
  heap.emplace(Weight{0}, root);
  while (!heap.empty()) {
    const auto [distance, source] = heap.top();
    heap.pop();
    if (distance > found.distance[source]) continue;  // a shorter way was found since
    for (const auto& a : graph[source]) {
      if (a.length >= unreached<Weight> - distance) continue;  // the sum exceeds the type
      const Weight candidate = distance + a.length;
      if (candidate >= found.distance[a.target]) continue;
      found.distance[a.target] = candidate;
      found.parent[a.target] = source;
      heap.emplace(candidate, a.target);
    }
  }
  return found;
}

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
