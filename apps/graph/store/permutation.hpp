#pragma once

/// A seeded permutation of the numbers 0 to count-1 that needs no table.

#include <array>
#include <cstdint>

#include "apps/graph/types.hpp"

namespace amity::apps::graph {

class permutation {
 public:
  permutation(vertex count, std::uint64_t seed);

  /// A permutation of the next power of two, repeated until the result is one of the numbers: less than two steps on
  /// average.
  vertex operator()(vertex v) const {
    do v = step(v);
    while (v >= count_);
    return v;
  }
  /// The number that becomes v.
  vertex inverse(vertex v) const {
    do v = step_back(v);
    while (v >= count_);
    return v;
  }

 private:
  struct round {
    vertex factor;   // odd
    vertex inverse;  // of the factor, modulo 2^32
    vertex summand;
  };

  /// Each part of it can be undone: a product with an odd number and a sum, both modulo a power of two, carry low bits
  /// upwards; the shift brings high ones down.
  vertex step(vertex v) const {
    for (const round& r : rounds_) {
      v = (v * r.factor + r.summand) & mask_;
      v ^= v >> half_;
    }
    return v;
  }
  vertex step_back(vertex v) const {
    for (auto r = rounds_.rbegin(); r != rounds_.rend(); ++r) {
      v ^= v >> half_;  // twice half are all bits
      v = (v - r->summand) * r->inverse & mask_;
    }
    return v;
  }

  vertex count_;
  vertex mask_;
  int half_;  // of the bits, rounded up
  std::array<round, 3> rounds_;
};

}  // namespace amity::apps::graph
