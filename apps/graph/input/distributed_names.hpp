#pragma once

/// The names of the vertices of a whole graph, dealt to the ranks that have read them first.
///
/// Numbered ones take no memory and no messages. Texts lie on one rank each, in the memory of `labels`; besides, every
/// rank knows in 16 bytes for each block of the input whose the labels are that were first seen in it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/input/labels.hpp"

namespace amity::apps::graph {

class distributed_names {
 public:
  distributed_names() = default;

  /// The numbers first, first + 1, ...: `count` of them.
  static distributed_names numbered(vertex count, std::uint64_t first) {
    distributed_names result;
    result.held_ = labels::numbered(count, first);
    result.size_ = count;
    return result;
  }

  /// Consecutive vertices whose texts lie on one rank.
  struct range {
    vertex first;
    vertex last;  ///< the first behind the range
    rank_t holder;
  };

  /// `ranges` have all vertices in their order, and are the same on all ranks. `held` are the labels of those that this
  /// rank holds, in that order.
  distributed_names(labels held, std::vector<range> ranges);

  vertex size() const { return size_; }
  bool are_numbered() const { return held_.are_numbered(); }

  /// Collective: the names of the vertices that this rank wants, which may be any, or none.
  std::vector<std::string> texts(world& w, std::span<const vertex> wanted) const;

  /// Collective, with the same label on all ranks, and the same result: the vertex of a label.
  std::optional<vertex> find(world& w, std::string_view label) const;

  /// Collective, with the same arguments on all ranks, and the same result: at most `count` labels that a person may
  /// have meant by `wanted`, likeliest first. Looks at every label.
  std::vector<std::string> nearest(world& w, std::string_view wanted, std::size_t count) const;

 private:
  struct held_range {
    range of;
    vertex held_before;  ///< how many labels its holder has of the ranges in front
  };
  const held_range& range_of(vertex v) const;
  /// Of a label that this rank holds.
  vertex number_of(rank_t own, vertex held) const;

  labels held_;
  std::vector<held_range> ranges_;
  vertex size_ = 0;
};

/// Collective: one numbering of what the ranks have each numbered as they met it, `local.names`. Labels count in the
/// order in which they were first seen in the input, whatever the number of ranks. `of_local[v]` becomes the number of
/// the local vertex v. Block i was read by rank i modulo `readers`. Throws as `together` for too many labels.
distributed_names number_names(world& w, const edge_list& local, rank_t readers, std::vector<vertex>& of_local);

}  // namespace amity::apps::graph
