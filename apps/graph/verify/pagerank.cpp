/// A round in which each arc is a message: nothing is added up before it is there.

#include "apps/graph/kernels/pagerank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace amity::apps::graph {
namespace {

struct gift {
  vertex target;
  double rank;
};

}  // namespace

bool pagerank_check::right(const page_ranks& found, const pagerank_options& how) const {
  return residual <= how.damping * found.change + rounding && std::abs(total - 1) <= rounding;
}

pagerank_check check_pagerank(world& w, const distributed_graph<vertex>& graph, const page_ranks& found,
                              const pagerank_options& how) {
  std::vector<large_array<double>> given;
  double total = 0, dangling = 0;
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    const auto& part = graph.parts[i];
    given.emplace_back(part.size());
    for (vertex row = 0; row < part.size(); ++row) {
      total += found.parts[i][row];
      if (part.rows.degree(row) == 0) dangling += found.parts[i][row];
    }
  }
  auto gifts = w.message<gift>(
      [&](const gift& g, auto& self) {
        const auto i = static_cast<std::size_t>(self.thread_index());
        given[i][g.target - graph.parts[i].first] += g.rank;
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  w.epoch([&](thread& t) {
    const auto& part = graph.of(t);
    const auto& ranks = found.parts[static_cast<std::size_t>(t.thread_index())];
    auto& out = gifts.on(t);
    for (vertex row = 0; row < part.size(); ++row) {
      for (const vertex target : part.rows[row]) {
        out.send(graph.where.rank(target), {target, ranks[row] / static_cast<double>(part.rows.degree(row))});
      }
    }
  });
  const double elsewhere = (1 - how.damping + how.damping * w.sum(dangling)) / graph.vertices();
  double residual = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (std::size_t row = 0; row < given[i].size(); ++row) {
      residual += std::abs(elsewhere + how.damping * given[i][row] - found.parts[i][row]);
    }
  }
  return {w.sum(residual), w.sum(total), 4 * std::numeric_limits<double>::epsilon() * graph.vertices()};
}

}  // namespace amity::apps::graph
