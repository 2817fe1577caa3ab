#pragma once

/// Brings what ranks have found to rank 0.

#include <algorithm>
#include <span>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"
#include "apps/graph/store/partition.hpp"

namespace amity::apps::graph {

/// Collective: the paths of the whole graph on rank 0, nothing on others. `place_of` is what `deal` gave to rank 0.
template <class Distance>
paths<Distance> gather(world& w, const share& own, const paths<Distance>& mine, std::span<const vertex> place_of) {
  auto at = nothing_reached<Distance>(w.rank() == 0 ? own.places() : 0);
  auto collected = w.share(at);
  w.epoch([&] {
    w.async(
        0,
        [](paths<Distance>& all, vertex first, const std::vector<Distance>& distance,
           const std::vector<vertex>& parent) {
          std::ranges::copy(distance, all.distance.begin() + first);
          std::ranges::copy(parent, all.parent.begin() + first);
        },
        collected, own.first(), std::vector(mine.distance.begin(), mine.distance.end()),
        std::vector(mine.parent.begin(), mine.parent.end()));
  });
  std::vector<vertex> vertex_at(at.parent.size(), no_vertex);
  for (vertex v = 0; v < place_of.size(); ++v) vertex_at[place_of[v]] = v;
  auto result = nothing_reached<Distance>(place_of.size());
  for (vertex v = 0; v < place_of.size(); ++v) {
    const vertex parent = at.parent[place_of[v]];
    result.distance[v] = at.distance[place_of[v]];
    result.parent[v] = parent == no_vertex ? no_vertex : vertex_at[parent];
  }
  return result;
}

/// As above, of a search on a distributed graph.
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

/// Collective: gives all ranks the value of rank 0. T is trivially copyable.
template <class T>
void broadcast(world& w, T& value) {
  auto target = w.share(value);
  w.epoch([&] {
    for (rank_t r = 1; w.rank() == 0 && r < w.size(); ++r) {
      w.async(
          r, [](T& mine, const T& sent) { mine = sent; }, target, value);
    }
  });
}

}  // namespace amity::apps::graph
