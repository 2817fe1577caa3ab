#include "bench/search_levels.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

using vertex = std::uint32_t;

/// Where the arcs of a vertex lead: computed, so that a rank keeps its own arcs only, and any rank can look.
vertex arc(const search_plan& plan, std::uint64_t source, std::uint64_t which) {
  return static_cast<vertex>(splitmix64::mix(source * plan.degree + which) & (plan.vertices - 1));
}

/// What a search has found, in two numbers.
struct summary_of_search {
  std::uint64_t reached = 0;
  std::uint64_t depths = 0;  ///< their sum
};

summary_of_search search_alone(const search_plan& plan, vertex root) {
  std::vector<bool> seen(plan.vertices);
  std::vector<vertex> frontier{root}, next;
  seen[root] = true;
  summary_of_search found{1, 0};
  for (std::uint64_t depth = 1; !frontier.empty(); ++depth) {
    next.clear();
    for (const vertex source : frontier) {
      for (std::uint64_t i = 0; i < plan.degree; ++i) {
        const vertex target = arc(plan, source, i);
        if (seen[target]) continue;
        seen[target] = true;
        next.push_back(target);
        ++found.reached;
        found.depths += depth;
      }
    }
    frontier.swap(next);
  }
  return found;
}

}  // namespace

arguments search_plan::to_arguments() const {
  return {{"vertices", std::to_string(vertices)},
          {"degree", std::to_string(degree)},
          {"settling", std::to_string(settling)},
          {"searches", std::to_string(searches)}};
}

search_plan search_plan::from(const arguments& args) {
  const auto number = [&](std::string_view name) { return std::stoull(args.find(name)->second); };
  return {number("vertices"), number("degree"), number("settling"), number("searches")};
}

sample measure_searches(world& w, const search_plan& plan, coalesce packets) {
  const cyclic_map owners(plan.vertices, w.size());
  std::vector<vertex> arcs;
  for (std::uint64_t row = 0; row < owners.items_of(w.rank()); ++row) {
    for (std::uint64_t i = 0; i < plan.degree; ++i) arcs.push_back(arc(plan, owners.global(w.rank(), row), i));
  }
  constexpr std::uint32_t nobody = ~std::uint32_t{0};
  std::vector<std::uint32_t> depths(owners.items_of(w.rank()));
  std::vector<vertex> frontier, next;
  std::uint32_t depth = 0;
  // Every arc is a message, that of a rank to itself too: the kernel measures messages.
  auto visit = w.message<vertex>(
      [&](vertex target) {
        auto& own = depths[owners.local(target)];
        if (own != nobody) return;
        own = depth;
        next.push_back(target);
      },
      packets);
  const auto search = [&](vertex root) {
    std::ranges::fill(depths, nobody);
    frontier.clear();
    if (owners.owner(root) == w.rank()) {
      depths[owners.local(root)] = 0;
      frontier.push_back(root);
    }
    std::uint64_t width = 1;
    for (depth = 1; width > 0; ++depth) {
      next.clear();
      width = w.epoch(
          [&] {
            for (const vertex source : frontier) {
              const vertex* const first = &arcs[owners.local(source) * plan.degree];
              for (const vertex* target = first; target < first + plan.degree; ++target) {
                visit.send(owners.owner(*target), *target);
              }
            }
          },
          [&] { return next.size(); });
      frontier.swap(next);
    }
    std::uint64_t reached = 0, sum = 0;
    for (const std::uint32_t own : depths) {
      reached += own != nobody;
      sum += own != nobody ? own : 0;
    }
    return summary_of_search{w.sum(reached), w.sum(sum)};
  };

  std::uint64_t searched = 0;
  core::traffic before;
  const auto rate = [&] {
    const auto root = static_cast<vertex>(splitmix64::mix(searched) & (plan.vertices - 1));
    before = w.counters();
    w.barrier();
    summary_of_search found;
    const double total_ns = w.max(wall_ns([&] { found = search(root); }));
    if (searched++ == 0) {
      const summary_of_search expected = search_alone(plan, root);
      expect_equal("vertices reached", found.reached, expected.reached);
      expect_equal("sum of depths", found.depths, expected.depths);
    }
    return static_cast<double>(found.reached * plan.degree) / total_ns * 1e3;
  };
  for (std::uint64_t i = 0; i < plan.settling; ++i) rate();
  const double m_per_s = median_of(static_cast<int>(plan.searches), rate);
  const auto packets_sent = std::max<std::uint64_t>(1, w.counters().packets_sent - before.packets_sent);
  return {{"m_per_s", m_per_s},
          {"packet_bytes",
           static_cast<double>(w.counters().bytes_sent - before.bytes_sent) / static_cast<double>(packets_sent)}};
}

}  // namespace amity::bench
