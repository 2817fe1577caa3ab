#include "apps/graph/store/partition.hpp"

#include <algorithm>
#include <numeric>

namespace amity::apps::graph {
namespace {

template <class Arc>
Arc to_place(const arc& a, std::span<const vertex> place_of) {
  if constexpr (std::is_same_v<Arc, arc>) {
    return {place_of[a.target], a.length};
  } else {
    return place_of[a.target];
  }
}

}  // namespace

layout::layout(vertex vertices, rank_t ranks)
    : block_((vertices + static_cast<vertex>(ranks) - 1) / static_cast<vertex>(ranks)), ranks_(ranks) {}

std::vector<vertex> deal(const csr<arc>& whole, const layout& where) {
  std::vector<vertex> order(whole.rows());
  std::iota(order.begin(), order.end(), vertex{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](vertex v) { return whole.degree(v); });
  const vertex ranks = where.places() / where.block();
  std::vector<vertex> place_of(order.size());
  for (vertex i = 0; i < order.size(); ++i) {
    place_of[order[i]] = where.place(static_cast<rank_t>(i % ranks), i / ranks);
  }
  return place_of;
}

template <class Arc>
partition<Arc> distribute(world& w, const layout& where, const csr<arc>& whole, std::span<const vertex> place_of) {
  struct placed {
    vertex row;
    Arc to;
  };
  std::vector<placed> mine;
  auto arcs = w.message<placed>(
      [&](std::span<const placed> batch) { mine.insert(mine.end(), batch.begin(), batch.end()); }, coalesce{});
  w.epoch([&] {
    if (w.rank() != 0) return;
    for (vertex v = 0; v < whole.rows(); ++v) {
      const rank_t owner = where.owner(place_of[v]);
      const vertex row = place_of[v] - where.place(owner, 0);
      for (const arc& a : whole[v]) arcs.send(owner, {row, to_place<Arc>(a, place_of)});
    }
  });
  return {share(where, w.rank()), csr<Arc>(where.block(), [&](auto visit) {
            for (const placed& p : mine) visit(p.row, p.to);
          })};
}

template partition<vertex> distribute(world&, const layout&, const csr<arc>&, std::span<const vertex>);
template partition<arc> distribute(world&, const layout&, const csr<arc>&, std::span<const vertex>);

}  // namespace amity::apps::graph
