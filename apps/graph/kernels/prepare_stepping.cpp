#include <algorithm>

#include "apps/graph/kernels/search.hpp"

namespace amity::apps::graph {
namespace {

/// With lengths that are spread evenly, about two arcs of each vertex are light: fewer would want more epochs, and more
/// would be relaxed for distances that are not final.
weight choose_delta(world& w, const partition<arc>& graph, weight longest_arc) {
  double total = 0;
  for (const arc& a : graph.rows.arcs()) total += static_cast<double>(a.length);
  total = w.sum(total);
  const auto arcs = static_cast<double>(w.sum(std::uint64_t{graph.rows.arcs().size()}));
  const double degree = std::max(1.0, arcs / static_cast<double>(graph.own.places()));
  constexpr double buckets_max = 1 << 16;  // so many lie in the ring, mostly empty, where lengths differ very much
  const double delta =
      std::max(4 * total / std::max(arcs, 1.0) / degree, static_cast<double>(longest_arc) / buckets_max);
  return delta > 0 ? static_cast<weight>(delta) : 1;
}

csr<arc> select(const csr<arc>& rows, auto wanted) {
  return csr<arc>(rows.rows(), [&](auto visit) {
    for (vertex row = 0; row < rows.rows(); ++row) {
      for (const arc& a : rows[row]) {
        if (wanted(a)) visit(row, a);
      }
    }
  });
}

}  // namespace

stepping_graph prepare_stepping(world& w, const partition<arc>& graph, weight delta) {
  weight longest = 0;
  for (const arc& a : graph.rows.arcs()) longest = std::max(longest, a.length);
  longest = static_cast<weight>(w.max(static_cast<double>(longest)));
  if (delta == 0) delta = choose_delta(w, graph, longest);
  return {graph.own, delta, longest, select(graph.rows, [&](const arc& a) { return a.length < delta; }),
          select(graph.rows, [&](const arc& a) { return a.length >= delta; })};
}

}  // namespace amity::apps::graph
