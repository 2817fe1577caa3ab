#pragma once

/// The places that a thread need not go to again: its own that have been reached, and others' that it has asked for. To
/// ask twice would change nothing.
///
/// Memory: one bit for each place of the whole graph, where it is `whole`. Otherwise one for each own place; others'
/// share slots, of which each remembers the last one, and memory stays in proportion to the own part. A place that is
/// forgotten costs a message, nothing else.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "amity/base/large_array.hpp"
#include "apps/graph/kernels/bitmap.hpp"
#include "apps/graph/store/places.hpp"

namespace amity::apps::graph {

class seen_places {
 public:
  /// Of a thread whose part begins at the place `first`. The places must live as long.
  seen_places(const places& where, vertex first, bool whole)
      : where_(where),
        first_(first),
        block_(where.block()),
        whole_(whole),
        bits_(whole ? where.count() : where.block()) {
    if (!whole) slots_.resize(block_ / 2, no_vertex);
  }

  void clear() {
    bits_.clear();
    std::ranges::fill(slots_, no_vertex);
  }

  bool owns(vertex place) const { return place - first_ < block_; }  // places before the first wrap around

  bool contains(vertex place) const {
    if (whole_) return bits_.contains(place);
    return owns(place) ? bits_.contains(place - first_) : slots_[where_.shared_slot(place, slots_.size())] == place;
  }
  /// Whether it was not there.
  bool insert(vertex place) {
    if (whole_) return bits_.insert(place);
    return owns(place) ? bits_.insert(place - first_)
                       : std::exchange(slots_[where_.shared_slot(place, slots_.size())], place) != place;
  }

  /// The words of a whole set's bits.
  std::span<std::uint64_t> words() { return bits_.words(); }

 private:
  const places& where_;
  vertex first_;
  vertex block_;
  bool whole_;
  bitmap bits_;
  large_array<vertex> slots_;
};

}  // namespace amity::apps::graph
