/// Each round, every vertex gives an equal share of its rank to each of its targets. A part adds up what it has for
/// each vertex of the whole graph, in one array, before it sends: so at most one number for each vertex leaves a part,
/// however many arcs lead there. Vertices that have arcs are the first of each part, and sums that lie side by side
/// share a message.

#include "apps/graph/kernels/pagerank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace amity::apps::graph {
namespace {

/// Sums for a few vertices side by side.
struct sums {
  static constexpr vertex length = 4;  // divides the numbers that a part's places can have
  vertex target;
  std::array<double, length> values;
};

class part_of_walk {
 public:
  part_of_walk(const distributed_graph<vertex>& graph, const graph_part<vertex>& own, large_array<double>& rank)
      : where_(graph.where), own_(own), rank_(rank), sums_(where_.count()) {
    rank_.assign(own.size(), 1.0 / graph.vertices());
  }

  /// Rank of the vertices that have nobody to give it to.
  double dangling() const {
    double total = 0;
    for (vertex row = own_.joined; row < own_.size(); ++row) total += rank_[row];
    return total;
  }

  void give(auto& out) {
    for (vertex row = 0; row < own_.joined; ++row) {
      const double each = rank_[row] / static_cast<double>(own_.rows.degree(row));
      for (const vertex target : own_.rows[row]) sums_[target] += each;
    }
    for (rank_t rank = 0; rank < where_.ranks(); ++rank) {
      for (rank_t thread = 0; thread < where_.threads(); ++thread) {
        const vertex first = where_.place(rank, thread, 0);
        if (first != own_.first) send_sums(rank, first, out);
      }
    }
  }

  void take(const sums& s) {
    for (vertex i = 0; i < sums::length; ++i) sums_[s.target + i] += s.values[i];
  }

  /// How much changes.
  double renew(double base, double damping) {
    double change = 0;
    double* const given = &sums_[own_.first];
    for (vertex row = 0; row < own_.size(); ++row) {
      const double renewed = base + damping * given[row];
      change += std::abs(renewed - rank_[row]);
      rank_[row] = renewed;
    }
    std::fill_n(given, own_.size(), 0);
    return change;
  }

 private:
  /// What has been added up for the part whose places begin with `first`.
  void send_sums(rank_t rank, vertex first, auto& out) {
    for (vertex at = first; at < first + where_.block(); at += sums::length) {
      sums s{at, {}};
      for (vertex i = 0; i < sums::length; ++i) s.values[i] = std::exchange(sums_[at + i], 0);
      if (std::ranges::any_of(s.values, [](double value) { return value != 0; })) out.send(rank, s);
    }
  }

  const places& where_;
  const graph_part<vertex>& own_;
  large_array<double>& rank_;
  large_array<double> sums_;  // of all places; what is here for vertices of its own counts for the next round
};

}  // namespace

page_ranks pagerank(world& w, const distributed_graph<vertex>& graph, const pagerank_options& how,
                    const observer& watch) {
  const std::size_t threads = graph.parts.size();
  page_ranks found;
  found.parts.resize(threads);
  std::vector<std::unique_ptr<part_of_walk>> parts(threads);
  std::vector<double> of_threads(threads);
  const auto index = [](const auto& who) { return static_cast<std::size_t>(who.thread_index()); };
  auto out = w.message<sums>(
      [&](std::span<const sums> arrived, auto& self) {
        part_of_walk& part = *parts[index(self)];
        for (const sums& s : arrived) part.take(s);
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  // The sum of what each part finds.
  const auto each_part = [&](auto work) {
    w.epoch([&](thread& t) { of_threads[index(t)] = work(*parts[index(t)], t); });
    return w.sum(std::accumulate(of_threads.begin(), of_threads.end(), 0.0));
  };

  const meter clock(w);
  w.epoch(
      [&](thread& t) { parts[index(t)] = std::make_unique<part_of_walk>(graph, graph.of(t), found.parts[index(t)]); });
  do {
    const double dangling = each_part([&](part_of_walk& part, thread& t) {
      part.give(out.on(t));
      return part.dangling();
    });
    const double base = (1 - how.damping + how.damping * dangling) / graph.vertices();
    found.change = each_part([&](part_of_walk& part, thread&) { return part.renew(base, how.damping); });
    watch(found.rounds++, graph.vertices());
  } while (found.change >= how.tolerance && found.rounds < how.rounds_max);
  found.spent = clock.read();
  return found;
}

}  // namespace amity::apps::graph
