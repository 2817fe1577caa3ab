/// Asks for the third side of every pair of earlier neighbours.

#include "apps/graph/kernels/triangles.hpp"

#include <algorithm>
#include <vector>

#include "apps/graph/kernels/order.hpp"

namespace amity::apps::graph {
namespace {

struct side {
  vertex target;
  vertex other;
};

}  // namespace

std::uint64_t count_closed_wedges(world& w, const distributed_graph<vertex>& graph) {
  const order numbers(graph.where);
  const auto number = [&](vertex place) { return numbers.number(place); };
  std::vector<std::uint64_t> closed(graph.parts.size());
  auto sides = w.message<side>(
      [&](std::span<const side> arrived, auto& self) {
        const auto i = static_cast<std::size_t>(self.thread_index());
        const auto& part = graph.parts[i];
        std::uint64_t found = 0;
        for (const side& s : arrived) {
          found += std::ranges::binary_search(part.rows[s.target - part.first], number(s.other), {}, number);
        }
        closed[i] += found;
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  return w.epoch(
      [&](thread& t) {
        const auto& part = graph.of(t);
        for (vertex row = 0; row < part.size(); ++row) {
          const auto targets = part.rows[row];
          for (std::size_t i = 0; i < targets.size() && number(targets[i]) < number(part.first + row); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
              sides.on(t).send(graph.where.rank(targets[i]), {targets[i], targets[j]});
            }
          }
        }
      },
      [&](thread& t) { return closed[static_cast<std::size_t>(t.thread_index())]; });
}

}  // namespace amity::apps::graph
