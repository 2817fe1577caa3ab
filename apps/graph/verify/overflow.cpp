#include "apps/graph/verify/overflow.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

#include "apps/graph/collect.hpp"

namespace amity::apps::graph {
namespace {

template <class Weight>
struct claim {
  vertex target;  // a place
  vertex source;  // a number
  Weight distance;
  Weight length;
};

/// Collective.
template <class Weight>
bool may_overflow(world& w, const distributed_graph<weighted_arc<Weight>>& graph, const answer<Weight>& found) {
  Weight far = 0, longest = 0;
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    const auto& part = graph.parts[i];
    for (vertex row = 0; row < part.joined; ++row) {
      const Weight distance = found.parts[i].distance[row];
      if (distance == unreached<Weight>) continue;
      far = std::max(far, distance);
      longest = std::max<Weight>(longest, part.rows[row].back().length);  // arcs go by rising weight
    }
  }
  return path_sum(greatest_of(w, far), greatest_of(w, longest)) == unreached<Weight>;
}

template <class Weight>
bool before(const overflowing_edge<Weight>& a, const overflowing_edge<Weight>& b) {
  return std::tie(a.target, a.source) < std::tie(b.target, b.source);
}

}  // namespace

template <weight Weight>
std::optional<overflowing_edge<Weight>> find_overflow(world& w, const distributed_graph<weighted_arc<Weight>>& graph,
                                                      const answer<Weight>& found) {
  if (!may_overflow(w, graph, found)) return {};
  using edge_type = overflowing_edge<Weight>;
  constexpr edge_type none{no_vertex, no_vertex, 0, 0};
  std::vector<edge_type> first(graph.parts.size(), none);
  auto claims = w.message<claim<Weight>>(
      [&](const claim<Weight>& c, auto& self) {
        const auto i = static_cast<std::size_t>(self.thread_index());
        const vertex row = c.target - graph.parts[i].first;
        if (found.parts[i].distance[row] != unreached<Weight>) return;
        const edge_type e{c.source, graph.parts[i].vertex_of[row], c.distance, c.length};
        if (before(e, first[i])) first[i] = e;
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  w.epoch([&](thread& t) {
    const auto& part = graph.of(t);
    const auto& distances = found.parts[static_cast<std::size_t>(t.thread_index())].distance;
    auto& out = claims.on(t);
    for (vertex row = 0; row < part.joined; ++row) {
      if (distances[row] == unreached<Weight>) continue;
      for (const auto& a : part.rows[row]) {
        if (path_sum<Weight>(distances[row], a.length) == unreached<Weight>)
          out.send(graph.where.rank(a.target), {a.target, part.vertex_of[row], distances[row], a.length});
      }
    }
  });
  std::vector<edge_type> all = collect(w, std::vector{*std::ranges::min_element(first, before<Weight>)});
  edge_type chosen = all.empty() ? none : *std::ranges::min_element(all, before<Weight>);
  broadcast(w, chosen);
  return chosen.target == no_vertex ? std::nullopt : std::optional(chosen);
}

template std::optional<overflowing_edge<float>> find_overflow(world&, const distributed_graph<weighted_arc<float>>&,
                                                              const answer<float>&);
template std::optional<overflowing_edge<double>> find_overflow(world&, const distributed_graph<weighted_arc<double>>&,
                                                               const answer<double>&);
template std::optional<overflowing_edge<std::int64_t>> find_overflow(
    world&, const distributed_graph<weighted_arc<std::int64_t>>&, const answer<std::int64_t>&);

}  // namespace amity::apps::graph
