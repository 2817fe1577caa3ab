#pragma once

/// PageRank: where a walk is that follows an arc of each vertex at random, and now and then starts anew anywhere.

#include <cstdint>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

struct pagerank_options {
  double damping = 0.85;            ///< probability of following an arc: 0 to less than 1
  double tolerance = 1e-6;          ///< ends when the ranks change by less, all together
  std::uint32_t rounds_max = 1000;  ///< ends in any case
};

struct page_ranks {
  std::vector<large_array<double>> parts;  ///< of this rank's threads, by rows; all together they sum to 1
  double change = 0;                       ///< sum of the changes in the last round, without their signs
  std::uint32_t rounds = 0;
  cost spent;
};

/// Collective. What a vertex without arcs has goes to all vertices alike. Sums are added up in the order in which
/// messages come, so that their last bits vary. Memory of each thread: 8 bytes for each place of the whole graph and
/// 8 for each of its own vertices. `watch` is told the rounds.
page_ranks pagerank(world& w, const distributed_graph<vertex>& graph, const pagerank_options& how,
                    const observer& watch);

/// How far ranks are from a fixed point, as one more round finds that has a message for each arc.
struct pagerank_check {
  double residual = 0;  ///< sum of the changes that the round would bring
  double total = 0;     ///< sum of the ranks
  double rounding = 0;  ///< that sums of so many numbers may be wrong by

  /// A round shrinks changes by the damping.
  bool right(const page_ranks& found, const pagerank_options& how) const;
};

/// Collective.
pagerank_check check_pagerank(world& w, const distributed_graph<vertex>& graph, const page_ranks& found,
                              const pagerank_options& how);

}  // namespace amity::apps::graph
