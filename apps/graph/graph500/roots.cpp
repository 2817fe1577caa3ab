#include "apps/graph/graph500/roots.hpp"

#include <algorithm>
#include <queue>

#include "amity/base/random.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};

struct candidate {
  std::uint64_t lot;  // differs from vertex to vertex
  vertex place;
  bool operator<(const candidate& other) const { return lot < other.lot; }
};

/// Those of this rank with the lowest lots, the lowest first.
template <class Arc>
std::vector<candidate> draw(const distributed_graph<Arc>& graph, std::uint64_t seed, std::size_t count) {
  std::priority_queue<candidate> best;
  const std::uint64_t key = splitmix64::mix(seed);
  for (const auto& part : graph.parts) {
    for (vertex row = 0; row < part.joined; ++row) {
      const candidate drawn{splitmix64::mix(key + part.vertex_of[row]), part.first + row};
      if (best.size() == count && !(drawn < best.top())) continue;
      const auto leads_away = [&](const Arc& a) { return target_of(a) != drawn.place; };
      if (std::ranges::none_of(part.rows[row], leads_away)) continue;
      best.push(drawn);
      if (best.size() > count) best.pop();
    }
  }
  std::vector<candidate> drawn(best.size());
  for (; !best.empty(); best.pop()) drawn[best.size() - 1] = best.top();
  return drawn;
}

}  // namespace

template <class Arc>
std::vector<vertex> search_roots(world& w, const distributed_graph<Arc>& graph, std::uint64_t seed, std::size_t count) {
  const std::vector<candidate> mine = count == 0 ? std::vector<candidate>() : draw(graph, seed, count);
  std::vector<vertex> roots;
  for (std::size_t next = 0; roots.size() < count;) {
    const std::uint64_t lot = next < mine.size() ? mine[next].lot : none;
    const std::uint64_t lowest = w.min(lot);
    if (lowest == none) break;
    roots.push_back(static_cast<vertex>(w.min(lot == lowest ? std::uint64_t{mine[next].place} : none)));
    if (lot == lowest) ++next;
  }
  return roots;
}

template <class Arc, class Distance>
std::uint64_t traversed_edges(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found) {
  const std::uint64_t arcs = w.epoch([](thread&) {},
                                     [&](thread& t) {
                                       const auto& part = graph.of(t);
                                       const auto& of = found.parts[static_cast<std::size_t>(t.thread_index())];
                                       std::uint64_t sum = 0;
                                       for (vertex row = 0; row < part.size(); ++row) {
                                         if (of.distance[row] != unreached<Distance>) sum += part.input_degree[row];
                                       }
                                       return sum;
                                     });
  return graph.undirected ? arcs / 2 : arcs;
}

template std::vector<vertex> search_roots(world&, const distributed_graph<vertex>&, std::uint64_t, std::size_t);
template std::vector<vertex> search_roots(world&, const distributed_graph<weighted_arc<float>>&, std::uint64_t,
                                          std::size_t);
template std::vector<vertex> search_roots(world&, const distributed_graph<weighted_arc<double>>&, std::uint64_t,
                                          std::size_t);
template std::uint64_t traversed_edges(world&, const distributed_graph<vertex>&, const answer<level>&);
template std::uint64_t traversed_edges(world&, const distributed_graph<weighted_arc<float>>&, const answer<float>&);
template std::uint64_t traversed_edges(world&, const distributed_graph<weighted_arc<double>>&, const answer<double>&);

}  // namespace amity::apps::graph
