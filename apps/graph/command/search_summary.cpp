#include "apps/graph/command/search_summary.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numeric>

#include "apps/graph/collect.hpp"

namespace amity::apps::graph {
namespace {

/// Calls visit(part, row, distance) for each vertex of this rank that was reached.
template <class Arc, class Distance>
void for_each_reached(const distributed_graph<Arc>& graph, const answer<Distance>& found, auto visit) {
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    const paths<Distance>& mine = found.parts[i];
    for (vertex row = 0; row < graph.parts[i].size(); ++row) {
      if (mine.distance[row] != unreached<Distance>) visit(graph.parts[i], row, mine.distance[row]);
    }
  }
}

/// `bounds` begin with 0 and rise: where bins begin.
template <class Arc, class Distance>
std::vector<bin> make_histogram(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found,
                                const std::vector<double>& bounds) {
  std::vector<std::uint64_t> counts(bounds.size());
  for_each_reached(graph, found, [&](const auto&, vertex, Distance distance) {
    const auto above = std::ranges::upper_bound(bounds, static_cast<double>(distance));
    ++counts[static_cast<std::size_t>(above - bounds.begin()) - 1];
  });
  const std::vector<std::uint64_t> sums = sum_on_first(w, counts);
  std::vector<bin> histogram;
  for (std::size_t i = 0; i < sums.size(); ++i) histogram.push_back({bounds[i], sums[i]});
  return histogram;
}

/// Levels, and few integers, have a bin each. For other weights, bins of equal width; if those put nearly all vertices
/// into the first, bins that double in width.
template <class Arc, class Distance>
std::vector<bin> choose_histogram(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found,
                                  double far) {
  if (far == 0) return make_histogram(w, graph, found, {0});
  constexpr double few = 12;
  if (std::same_as<Distance, level> || (std::integral<Distance> && far <= few)) {
    std::vector<double> levels(static_cast<std::size_t>(far) + 1);
    std::iota(levels.begin(), levels.end(), 0.0);
    return make_histogram(w, graph, found, levels);
  }
  constexpr int bins = 12;
  std::vector<double> equal, doubling{0};
  // Integers have bins that begin at integers.
  const auto add = [](std::vector<double>& bounds, double bound) {
    if constexpr (std::integral<Distance>) bound = std::ceil(bound);
    if (bounds.empty() || bound > bounds.back()) bounds.push_back(bound);
  };
  for (int i = 0; i < bins; ++i) add(equal, far / bins * i);
  for (int i = 1; i < bins; ++i) add(doubling, std::ldexp(far, i - bins));
  const auto histogram = make_histogram(w, graph, found, equal);
  const auto alternative = make_histogram(w, graph, found, doubling);
  if (histogram.empty()) return {};
  std::uint64_t all = 0;
  for (const bin& b : histogram) all += b.vertices;
  const bool lopsided = histogram[0].vertices > all * 3 / 4;
  return lopsided ? alternative : histogram;
}

template <class Distance>
struct candidate {
  Distance distance;
  vertex name;
  vertex place;
};

/// The `top` farthest vertices, on all ranks.
template <class Arc, class Distance>
std::vector<candidate<Distance>> find_farthest(world& w, const distributed_graph<Arc>& graph,
                                               const answer<Distance>& found, std::uint64_t top) {
  const auto keep_top = [&](std::vector<candidate<Distance>>& some) {
    const auto end = some.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(top, some.size()));
    std::ranges::partial_sort(some, end, [](const auto& a, const auto& b) {
      return a.distance != b.distance ? a.distance > b.distance : a.name < b.name;
    });
    some.erase(end, some.end());
  };
  std::vector<candidate<Distance>> mine;
  for_each_reached(graph, found, [&](const auto& part, vertex row, Distance distance) {
    mine.push_back({distance, part.vertex_of[row], part.first + row});
    if (mine.size() > 2 * top + 1024) keep_top(mine);
  });
  keep_top(mine);
  std::vector<candidate<Distance>> all = collect(w, mine);
  keep_top(all);
  broadcast(w, all);
  return all;
}

/// A path on its way up to the root: the vertex at `target` is `position` steps before the end of path `route`.
struct step {
  vertex target;  // a place
  std::uint32_t route;
  std::uint64_t position;
};
struct passed {
  vertex name;
  std::uint32_t route;
  std::uint64_t position;
};

/// Follows parents from each candidate up to the root, which is its own parent. Routes arrive on rank 0.
template <class Arc, class Distance>
std::vector<route<Distance>> walk_up(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found,
                                     const std::vector<candidate<Distance>>& ends) {
  std::vector<std::vector<passed>> arrived(w.rank() == 0 ? ends.size() : 0);
  auto report = w.message<passed>([&](const passed& p) { arrived[p.route].push_back(p); }, coalesce{});
  auto climb = w.message<step>(
      [&](const step& s, auto& self) {
        const auto i = static_cast<std::size_t>(self.thread_index());
        const vertex row = s.target - graph.parts[i].first;
        const vertex parent = found.parts[i].parent[row];
        report.on(self).send(0, {graph.parts[i].vertex_of[row], s.route, s.position});
        // An answer that nobody has checked may lead nowhere, or round and round.
        if (parent != s.target && parent != no_vertex && s.position < graph.vertices())
          self.send(graph.where.rank(parent), {parent, s.route, s.position + 1});
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  w.epoch([&] {
    for (std::uint32_t i = 0; w.rank() == 0 && i < ends.size(); ++i)
      climb.send(graph.where.rank(ends[i].place), {ends[i].place, i, 0});
  });
  std::vector<route<Distance>> routes;
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    std::ranges::sort(arrived[i], std::ranges::greater(), &passed::position);
    route<Distance> r{ends[i].distance, {}};
    for (const passed& p : arrived[i]) r.steps.push_back(p.name);
    routes.push_back(std::move(r));
  }
  return routes;
}

}  // namespace

template <class Arc, class Distance>
search_summary<Distance> summarise(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found,
                                   std::uint64_t top) {
  search_summary<Distance> result;
  double far = 0;
  for_each_reached(graph, found, [&](const auto& part, vertex row, Distance distance) {
    ++result.reached;
    result.arcs_traversed += part.rows.degree(row);
    far = std::max(far, static_cast<double>(distance));
  });
  result.reached = w.sum(result.reached);
  result.arcs_traversed = w.sum(result.arcs_traversed);
  result.histogram = choose_histogram(w, graph, found, w.max(far));
  result.farthest = walk_up(w, graph, found, find_farthest(w, graph, found, top));
  return result;
}

template search_summary<level> summarise(world&, const distributed_graph<vertex>&, const answer<level>&, std::uint64_t);
template search_summary<float> summarise(world&, const distributed_graph<weighted_arc<float>>&, const answer<float>&,
                                         std::uint64_t);
template search_summary<double> summarise(world&, const distributed_graph<weighted_arc<double>>&, const answer<double>&,
                                          std::uint64_t);
template search_summary<std::int64_t> summarise(world&, const distributed_graph<weighted_arc<std::int64_t>>&,
                                                const answer<std::int64_t>&, std::uint64_t);

}  // namespace amity::apps::graph
