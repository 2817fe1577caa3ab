#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "apps/graph/command/report.hpp"

namespace amity::apps::graph {
namespace {

std::vector<vertex> reached_vertices(const auto& found) {
  std::vector<vertex> reached;
  for (vertex v = 0; v < found.parent.size(); ++v) {
    if (found.parent[v] != no_vertex) reached.push_back(v);
  }
  return reached;
}

/// The vertices from `v` up to the root. An answer that nobody has checked may lead nowhere, or round and round.
std::vector<vertex> way_up(std::span<const vertex> parents, vertex v) {
  std::vector<vertex> way{v};
  while (parents[v] != v && parents[v] != no_vertex && way.size() < parents.size()) way.push_back(v = parents[v]);
  return way;
}

/// The `top` farthest, farthest first, equally far ones in the order of the input.
template <class Distance>
std::vector<route> farthest_routes(const labels& names, const paths<Distance>& found, std::vector<vertex> reached,
                                   std::uint64_t top) {
  const std::size_t count = std::min<std::size_t>(top, reached.size());
  const auto end = reached.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(reached, end, [&](vertex a, vertex b) {
    return found.distance[a] != found.distance[b] ? found.distance[a] > found.distance[b] : a < b;
  });
  std::vector<route> routes;
  for (auto far = reached.begin(); far != end; ++far) {
    route r{static_cast<double>(found.distance[*far]), {}};
    for (const vertex v : way_up(found.parent, *far)) r.labels.push_back(names.text(v));
    std::ranges::reverse(r.labels);
    routes.push_back(std::move(r));
  }
  return routes;
}

/// `bounds` begin with 0 and rise: where bins begin.
template <class Distance>
std::vector<bin> make_histogram(const paths<Distance>& found, const std::vector<vertex>& reached,
                                const std::vector<double>& bounds) {
  std::vector<bin> histogram;
  for (const double bound : bounds) histogram.push_back({bound, 0});
  for (const vertex v : reached) {
    const auto above = std::ranges::upper_bound(bounds, static_cast<double>(found.distance[v]));
    ++histogram[static_cast<std::size_t>(above - bounds.begin()) - 1].vertices;
  }
  return histogram;
}

/// Bins of equal width; if those put nearly all vertices into the first, bins that double in width.
std::vector<bin> length_histogram(const paths<weight>& found, const std::vector<vertex>& reached, double far) {
  if (far == 0) return make_histogram(found, reached, {0});
  constexpr int bins = 12;
  std::vector<double> equal, doubling{0};
  for (int i = 0; i < bins; ++i) equal.push_back(far * i / bins);
  for (int i = 1; i < bins; ++i) doubling.push_back(std::ldexp(far, i - bins));
  auto histogram = make_histogram(found, reached, equal);
  const bool lopsided = histogram[0].vertices > reached.size() * 3 / 4;
  return lopsided ? make_histogram(found, reached, doubling) : histogram;
}

template <class Distance>
report begin(const whole_graph& graph, const paths<Distance>& found, const std::vector<vertex>& reached,
             std::uint64_t top) {
  report result;
  result.title = graph.about.title;
  result.noun = graph.about.noun;
  result.unit = graph.about.unit;
  result.root = graph.about.names.text(graph.root);
  result.lengths = graph.lengths;
  result.undirected = graph.about.undirected;
  result.vertices = graph.about.vertices();
  result.edges = graph.edges;
  result.reached = reached.size();
  for (const vertex v : reached) result.edges_walked += graph.rows.degree(v);
  if (result.undirected) result.edges_walked /= 2;  // each was walked from both ends
  result.farthest = farthest_routes(graph.about.names, found, reached, top);
  return result;
}

template <class Distance>
double greatest(const paths<Distance>& found, const std::vector<vertex>& reached) {
  const auto closer = [&](vertex a, vertex b) { return found.distance[a] < found.distance[b]; };
  return static_cast<double>(found.distance[*std::ranges::max_element(reached, closer)]);
}

}  // namespace

report summarise(const whole_graph& graph, const paths<level>& found, std::uint64_t top) {
  const auto reached = reached_vertices(found);
  report result = begin(graph, found, reached, top);
  result.search = options::algorithm::bfs;
  std::vector<double> levels(static_cast<std::size_t>(greatest(found, reached)) + 1);
  std::iota(levels.begin(), levels.end(), 0.0);
  result.histogram = make_histogram(found, reached, levels);
  return result;
}

report summarise(const whole_graph& graph, const paths<weight>& found, std::uint64_t top) {
  const auto reached = reached_vertices(found);
  report result = begin(graph, found, reached, top);
  result.search = options::algorithm::sssp;
  result.histogram = length_histogram(found, reached, greatest(found, reached));
  return result;
}

}  // namespace amity::apps::graph
