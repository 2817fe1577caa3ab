#pragma once

/// Graphs that are made, not read.
///
/// A generator tells about its graph, and each edge is a function of the generator and the edge's index alone: so the
/// graph is the same for any number of ranks and threads, and nobody has to keep or send it.

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/graph/store/build.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

struct generated {
  std::string title;
  vertex vertices;
  std::uint64_t edges;
  bool undirected;  ///< what the graph is meant to be built as
};

template <class Type>
concept generator = requires(const Type& graph, std::uint64_t index, std::span<edge> out) {
  { graph.about() } -> std::convertible_to<generated>;
  { graph(index) } -> std::same_as<edge>;
  graph.fill(index, out);  // the edges from an index on
};

/// `fill(first, out)` writes the edges from an index on. Each thread of each rank gets a contiguous range of indices,
/// as large as the others' but for one, some thousand edges at a time.
edge_source source_of(const world& w, std::uint64_t edges,
                      std::function<void(std::uint64_t first, std::span<edge> out)> fill);

/// Returns the edges with the weights `convert(edge)`.
template <weight Weight, class Convert>
weighted_edge_source<Weight> with_weights(edge_source edges, Convert convert) {
  return [edges = std::move(edges), convert](const thread& t, const weighted_edge_taker<Weight>& take) {
    std::vector<weighted_edge<Weight>> out;
    edges(t, [&](std::span<const edge> some) {
      out.clear();
      for (const edge& e : some) out.push_back({e.source, e.target, convert(e)});
      take(out);
    });
  };
}

edge_source source_of(const world& w, const generator auto& graph) {
  return source_of(w, graph.about().edges,
                   [graph](std::uint64_t first, std::span<edge> out) { graph.fill(first, out); });
}

}  // namespace amity::apps::graph
