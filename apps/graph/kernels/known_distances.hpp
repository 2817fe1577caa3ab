#pragma once

/// What a thread knows about distances: of its own vertices the shortest so far; of others' the shortest that it has
/// offered to them or heard of. An offer that is no shorter would change nothing and need not be sent.
///
/// Memory: one `Weight` for each vertex of the whole graph, as long as these are at most `remembered_parts` times as
/// many as a part has. In larger jobs others' vertices share slots, of which each remembers the last one, and memory
/// stays in proportion to the own part. A distance that is forgotten costs a message, nothing else.

#include <algorithm>
#include <cstdint>

#include "amity/base/large_array.hpp"
#include "apps/graph/store/places.hpp"

namespace amity::apps::graph {

template <weight Weight>
class known_distances {
 public:
  /// Of a thread whose part begins at the place `first`. `remembered_parts` is a power of two. The places must
  /// live as long.
  known_distances(const places& where, vertex first, std::uint64_t remembered_parts = 16)
      : where_(where), first_(first), block_(where.block()), all_(where.count() <= remembered_parts * where.block()) {
    distance_.resize(all_ ? where.count() : block_);
    own_ = all_ ? first : 0;
    if (!all_) slots_.resize(remembered_parts * block_ / 2);
    forget();
  }

  void forget() {
    std::ranges::fill(distance_, unreached<Weight>);
    std::ranges::fill(slots_, slot{no_vertex, 0});
  }

  bool owns(vertex place) const { return place - first_ < block_; }  // places before the first wrap around
  Weight own(vertex row) const { return distance_[own_ + row]; }
  void prefetch_own(vertex row) const { __builtin_prefetch(&distance_[own_ + row]); }

  Weight operator[](vertex place) const {
    if (all_) return distance_[place];
    if (owns(place)) return own(place - first_);
    const slot& known = slots_[where_.shared_slot(place, slots_.size())];
    return known.place == place ? known.distance : unreached<Weight>;
  }

  void set(vertex place, Weight distance) {
    if (all_) {
      distance_[place] = distance;
    } else if (owns(place)) {
      distance_[place - first_] = distance;
    } else {
      slots_[where_.shared_slot(place, slots_.size())] = {place, distance};
    }
  }

 private:
  struct slot {
    vertex place;
    Weight distance;
  };

  const places& where_;
  vertex first_;
  vertex block_;
  bool all_;
  std::size_t own_ = 0;           // where the own rows begin
  large_array<Weight> distance_;  // of all places, or of the own rows
  large_array<slot> slots_;       // of others' places, unless all have their own
};

}  // namespace amity::apps::graph
