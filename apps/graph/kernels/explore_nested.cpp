#include "apps/graph/kernels/explore.hpp"

namespace amity::apps::graph {
namespace {

struct visit {
  vertex target;
};

}  // namespace

exploration explore_nested(world& w, const distributed_graph<vertex>& graph, vertex root) {
  exploration found;
  std::vector<std::uint64_t> counts(graph.parts.size());
  std::vector<std::vector<vertex>> stacks(graph.parts.size());  // empty between messages
  for (const auto& part : graph.parts) found.parts.emplace_back(part.size());

  // Within a part it goes on with a stack; what is elsewhere is a message. Handlers that run in sends outside handlers
  // work the stack off, too.
  const auto explore = [&](vertex start, auto& visits) {
    const auto i = static_cast<std::size_t>(visits.thread_index());
    const graph_part<vertex>& own = graph.parts[i];
    bitmap& explored = found.parts[i];
    if (!explored.insert(start - own.first)) return;
    std::uint64_t count = 0;
    std::vector<vertex>& stack = stacks[i];
    stack.push_back(start - own.first);
    while (!stack.empty()) {
      const vertex row = stack.back();
      stack.pop_back();
      ++count;
      for (const vertex target : own.rows[row]) {
        if (target - own.first >= own.size()) {
          visits.send(graph.where.rank(target), {target});
        } else if (explored.insert(target - own.first)) {
          stack.push_back(target - own.first);
        }
      }
    }
    counts[i] += count;
  };
  auto visits = w.message<visit>([&](const visit& v, auto& self) { explore(v.target, self); },
                                 parallel{thread_of_target{graph.where}}, coalesce{});

  const meter clock(w);
  found.count = w.epoch(
      [&](thread& t) {
        if (root - graph.of(t).first < graph.of(t).size()) explore(root, visits.on(t));
      },
      [&](thread& t) { return counts[static_cast<std::size_t>(t.thread_index())]; });
  found.epochs = 1;
  found.spent = clock.read();
  return found;
}

}  // namespace amity::apps::graph
