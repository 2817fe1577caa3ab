#include "apps/graph/generate/generated.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace amity::apps::graph {

edge_source source_of(const world& w, std::uint64_t edges,
                      std::function<void(std::uint64_t first, std::span<edge> out)> fill) {
  const auto rank = static_cast<std::uint64_t>(w.rank());
  const auto ranks = static_cast<std::uint64_t>(w.size());
  return [=, fill = std::move(fill)](const thread& t, const edge_taker& take) {
    constexpr std::uint64_t some = 4096;
    const std::uint64_t threads = static_cast<std::uint64_t>(t.count());
    const std::uint64_t part = rank * threads + static_cast<std::uint64_t>(t.thread_index()), parts = ranks * threads;
    const auto begin_of = [&](std::uint64_t p) { return p * (edges / parts) + std::min(p, edges % parts); };
    const std::uint64_t end = begin_of(part + 1);
    std::vector<edge> room(some);
    for (std::uint64_t first = begin_of(part); first < end; first += some) {
      const std::span<edge> out(room.data(), std::min(some, end - first));
      fill(first, out);
      take(out);
    }
  };
}

}  // namespace amity::apps::graph
