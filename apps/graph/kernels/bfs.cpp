/// Breadth-first search, level by level: one epoch each.
///
/// In an epoch every rank follows the arcs that leave its part of the frontier. A target of its own joins the next
/// frontier at once; for another's target it sends a `visit`, whose handler does the same there. Each rank keeps one
/// bit for each vertex of the whole graph: "visited" for its own, "already asked for" for others', since a second visit
/// never changes anything. So a rank sends at most one message for each vertex.

#include <functional>

#include "apps/graph/kernels/bitmap.hpp"
#include "apps/graph/kernels/search.hpp"

namespace amity::apps::graph {
namespace {

struct visit {
  vertex target;  // both are places
  vertex parent;
};

}  // namespace

found<level> bfs(world& w, const partition<vertex>& graph, vertex root, const observer& watch) {
  const share& own = graph.own;
  found<level> result{nothing_reached<level>(own.block()), 0, {}};
  bitmap seen(own.places());
  std::vector<vertex> frontier, next;  // rows
  level depth = 0;

  const auto reach = [&](vertex target, vertex parent) {
    const vertex row = own.row(target);
    result.mine.distance[row] = depth;
    result.mine.parent[row] = parent;
    next.push_back(row);
  };
  auto visits = w.message<visit>(
      [&](const visit& v) {
        if (seen.insert(v.target)) reach(v.target, v.parent);
      },
      coalesce{});
  const auto follow_arcs = [&] {
    for (std::size_t i = 0; i < frontier.size(); ++i) {
      graph.rows.prefetch_after(frontier, i, std::identity());
      const vertex source = own.place(frontier[i]);
      for (const vertex target : graph.rows[frontier[i]]) {
        if (!seen.insert(target)) continue;
        if (own.owns(target)) {
          reach(target, source);
        } else {
          visits.send(own.owner(target), {target, source});
        }
      }
    }
  };

  const meter clock(w);
  if (own.owns(root) && seen.insert(root)) reach(root, root);
  std::uint64_t reached = 1;
  for (std::uint64_t width = 1; width > 0; reached += width) {
    watch(depth, reached);
    frontier.swap(next);
    next.clear();
    ++depth;
    width = w.epoch(follow_arcs, [&] { return next.size(); });
  }
  result.rounds = depth;
  result.spent = clock.read();
  return result;
}

}  // namespace amity::apps::graph
