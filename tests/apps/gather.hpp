#pragma once

/// Brings a search's answer to rank 0, by the numbers of the vertices.

#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph::testing {

/// Collective: nothing on other ranks.
template <class Arc, class Distance>
paths<Distance> gather(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found) {
  struct line {
    vertex name, place, parent;
    Distance distance;
  };
  const std::size_t count = w.rank() == 0 ? graph.vertices() : 0;
  auto result = nothing_reached<Distance>(count);
  std::vector<vertex> vertex_at(w.rank() == 0 ? graph.where.count() : 0);
  auto lines = w.message<line>(
      [&](const line& l) {
        vertex_at[l.place] = l.name;
        result.distance[l.name] = l.distance;
        result.parent[l.name] = l.parent;
      },
      coalesce{});
  w.epoch([&](thread& t) {
    const auto& part = graph.of(t);
    const auto& mine = found.parts[static_cast<std::size_t>(t.thread_index())];
    for (vertex row = 0; row < part.size(); ++row)
      lines.on(t).send(0, {part.vertex_of[row], part.first + row, mine.parent[row], mine.distance[row]});
  });
  for (vertex& parent : result.parent) {
    if (parent != no_vertex) parent = vertex_at[parent];
  }
  return result;
}

}  // namespace amity::apps::graph::testing
