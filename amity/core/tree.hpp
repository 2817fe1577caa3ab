#pragma once

/// The binomial tree over the ranks of a job, rooted at rank 0: the way of waves, barriers and reductions.
/// A rank's parent clears its lowest set bit; depth and number of children are at most log2(size).

#include "amity/base/types.hpp"

namespace amity::core {

inline constexpr int tree_children_max = 31;

constexpr rank_t tree_parent(rank_t rank) { return rank & (rank - 1); }

/// Ranks may be out of range.
constexpr bool is_tree_child(rank_t child, rank_t rank, rank_t size) {
  return child > rank && child < size && tree_parent(child) == rank;
}

/// Calls visit(child) in increasing order: nearest subtree first.
template <class Visit>
constexpr void for_each_tree_child(rank_t rank, rank_t size, Visit&& visit) {
  const rank_t lowest_bit = rank & -rank;
  for (rank_t step = 1; (rank == 0 || step < lowest_bit) && step < size - rank; step <<= 1) visit(rank + step);
}

constexpr int tree_children(rank_t rank, rank_t size) {
  int count = 0;
  for_each_tree_child(rank, size, [&](rank_t) { ++count; });
  return count;
}

}  // namespace amity::core
