#pragma once

/// The graph of a sequential program: rows of arcs, numbered by falling degree, so that what searches touch most lies
/// side by side, and vertices without an edge come last.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bench/compare/graphs.hpp"

namespace amity::bench::compare {

struct arc {
  vertex target;
  float length;
};

template <class Arc>
struct rows {
  std::vector<std::uint64_t> first;  // one more than rows
  std::vector<Arc> arcs;

  std::uint64_t size() const { return first.size() - 1; }
  std::uint64_t degree(vertex v) const { return first[v + 1] - first[v]; }
  std::span<const Arc> operator[](vertex v) const { return {arcs.data() + first[v], arcs.data() + first[v + 1]}; }
};

/// Rows of `count` vertices; `each(emit)` calls `emit(row, arc)` for all arcs, the same way each time.
template <class Arc, class Each>
rows<Arc> collect(std::uint64_t count, Each&& each) {
  rows<Arc> made{std::vector<std::uint64_t>(count + 1), {}};
  each([&](vertex row, const Arc&) { ++made.first[row + 1]; });
  std::partial_sum(made.first.begin(), made.first.end(), made.first.begin());
  made.arcs.resize(made.first.back());
  auto next = made.first;
  each([&](vertex row, const Arc& a) { made.arcs[next[row]++] = a; });
  return made;
}

struct sequential_graph {
  rows<arc> out;             ///< no loops; of parallel arcs the shortest; by rising target
  rows<vertex> in;           ///< where arcs come from; empty if edges lead both ways
  std::vector<vertex> ends;  ///< of each vertex: ends of edges, or sources of edges that are directed
  std::vector<vertex> roots;
  bool both_ways;

  /// Edges of the input that a search traversed which reached these vertices.
  template <class Reached>
  std::uint64_t edges_within(Reached&& reached) const {
    std::uint64_t sum = 0;
    for (vertex v = 0; v < ends.size(); ++v) sum += reached(v) ? ends[v] : 0;
    return both_ways ? sum / 2 : sum;
  }
};

/// All arcs of `g` backwards, so that rows come out sorted.
template <class To, class From, class Make>
rows<To> transposed(const rows<From>& g, Make&& make) {
  return collect<To>(g.size(), [&](auto&& emit) {
    for (vertex v = 0; v < g.size(); ++v) {
      for (const From& a : g[v]) emit(a.target, make(v, a));
    }
  });
}

/// Of parallel arcs the shortest stays. Rows are sorted by target.
inline void merge_parallel(rows<arc>& g) {
  std::uint64_t kept = 0;
  for (vertex v = 0; v < g.size(); ++v) {
    const auto begin = kept;
    for (std::uint64_t i = std::exchange(g.first[v], begin); i < g.first[v + 1]; ++i) {
      const arc a = g.arcs[i];
      if (kept > begin && g.arcs[kept - 1].target == a.target) {
        g.arcs[kept - 1].length = std::min(g.arcs[kept - 1].length, a.length);
      } else {
        g.arcs[kept++] = a;
      }
    }
  }
  g.first.back() = kept;
  g.arcs.resize(kept);
  g.arcs.shrink_to_fit();
}

inline sequential_graph load(const graph& g, std::size_t roots) {
  const vertex count = g.vertices();
  std::vector<edge> edges(g.edges());
  std::vector<vertex> degree(count), ends(count), order(count), number(count);
  for (std::uint64_t i = 0; i < edges.size(); ++i) {
    const auto [u, v, w] = edges[i] = g(i);
    ++ends[u];
    ends[v] += g.both_ways;
    degree[u] += u != v;
    degree[v] += u != v;
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](vertex a, vertex b) { return degree[a] > degree[b]; });

  sequential_graph made{{}, {}, {}, {}, g.both_ways};
  for (vertex i = 0; i < count; ++i) {
    number[order[i]] = i;
    made.ends.push_back(ends[order[i]]);
  }
  const auto by_target = collect<arc>(count, [&](auto&& emit) {
    for (const auto& [u, v, w] : edges) {
      if (u == v) continue;
      emit(number[v], arc{number[u], w});
      if (g.both_ways) emit(number[u], arc{number[v], w});
    }
  });
  edges = {};
  made.out = transposed<arc>(by_target, [](vertex v, const arc& a) { return arc{v, a.length}; });
  merge_parallel(made.out);
  if (!g.both_ways) made.in = transposed<vertex>(made.out, [](vertex v, const arc&) { return v; });

  for (std::uint64_t k = 0; made.roots.size() < roots; ++k) {
    const vertex root = number[g.root(k)];
    if (made.out.degree(root) > 0) made.roots.push_back(root);
  }
  return made;
}

}  // namespace amity::bench::compare
