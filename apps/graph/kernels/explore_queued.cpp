#include "apps/graph/kernels/explore.hpp"

namespace amity::apps::graph {
namespace {

struct visit {
  vertex target;
};

}  // namespace

exploration explore_queued(world& w, const distributed_graph<vertex>& graph, vertex root) {
  exploration found;
  std::vector<std::uint64_t> counts(graph.parts.size());
  std::vector<std::vector<vertex>> queues(graph.parts.size());  // rows that are explored, but not their neighbours
  for (const auto& part : graph.parts) found.parts.emplace_back(part.size());

  const auto discover = [&](std::size_t i, vertex row) {
    if (!found.parts[i].insert(row)) return;
    ++counts[i];
    queues[i].push_back(row);
  };
  auto visits = w.message<visit>(
      [&](const visit& v, auto& self) {
        const auto i = static_cast<std::size_t>(self.thread_index());
        discover(i, v.target - graph.parts[i].first);
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  const auto explore = [&](thread& t) {
    const auto i = static_cast<std::size_t>(t.thread_index());
    const graph_part<vertex>& own = graph.of(t);
    auto& out = visits.on(t);
    while (!queues[i].empty()) {
      const vertex row = queues[i].back();
      queues[i].pop_back();
      for (const vertex target : own.rows[row]) {
        if (target - own.first < own.size()) {
          discover(i, target - own.first);
        } else {
          out.send(graph.where.rank(target), {target});
        }
      }
    }
  };

  const meter clock(w);
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    const graph_part<vertex>& own = graph.parts[i];
    if (root - own.first < own.size()) discover(i, root - own.first);
  }
  // Messages may come when the loop has ended on a rank: then there is another epoch.
  std::uint64_t waiting = 1;
  while (waiting > 0) {
    waiting = w.epoch(
        [&](thread& t) {
          do explore(t);
          while (t.poll());
        },
        [&](thread& t) { return queues[static_cast<std::size_t>(t.thread_index())].size(); });
    ++found.epochs;
  }
  for (const std::uint64_t each : counts) found.count += each;
  found.count = w.sum(found.count);
  found.spent = clock.read();
  return found;
}

}  // namespace amity::apps::graph
