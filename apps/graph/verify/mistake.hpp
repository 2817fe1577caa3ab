#pragma once

/// What can be wrong with a search's answer, and how all ranks agree on which mistake to tell.

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "amity/amity.hpp"
#include "apps/graph/kernels/paths.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

/// The rules of an answer; the mistake against the first of them is told, since others may follow from it.
enum class rule : std::uint8_t {
  root,             ///< the root is at distance 0, and its own parent
  unreached_alone,  ///< what is unreached has no parent
  parent,           ///< what is reached has a parent
  tree_edge,        ///< an edge from the parent explains the distance
  no_shortcut,      ///< no edge from a reached vertex leads to a vertex that is farther away than by that edge, or
                    ///< unreached
  rooted,           ///< parents lead to the root
  range,            ///< what is unreached is not so because its distance was too great for the type
  none,             ///< nothing is wrong
};

template <class Distance>
struct mistake {
  rule broken = rule::none;
  vertex number = no_vertex;                ///< of the vertex that is wrong
  vertex other = no_vertex;                 ///< place of its parent, or of the edge's source
  Distance distance = unreached<Distance>;  ///< of the vertex
  Distance by_other = unreached<Distance>;  ///< of the parent, or what the edge leads to

  /// Whether this one is told rather than `others`.
  bool before(const mistake& others) const {
    if (broken != others.broken) return broken < others.broken;
    return number != others.number ? number < others.number : by_other < others.by_other;
  }
};

/// Collective: the first mistake of all ranks, as a sentence that is the same on all; empty where there is none.
/// `number_at(place)` is the number of a vertex of this rank, `no_vertex` for other places.
template <class Distance>
std::string describe_first(world& w, const mistake<Distance>& mine,
                           const std::function<vertex(vertex place)>& number_at);

}  // namespace amity::apps::graph
