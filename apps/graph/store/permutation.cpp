#include "apps/graph/store/permutation.hpp"

#include <algorithm>
#include <bit>

#include "amity/base/random.hpp"

namespace amity::apps::graph {
namespace {

vertex inverse_of(vertex odd) {
  vertex inverse = odd;  // right in the lowest three bits; each step doubles how many are
  for (int step = 0; step < 4; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

}  // namespace

permutation::permutation(vertex count, std::uint64_t seed) : count_(count) {
  const int bits = std::bit_width(std::max<vertex>(count, 2) - 1);
  mask_ = static_cast<vertex>((std::uint64_t{1} << bits) - 1);
  half_ = (bits + 1) / 2;
  splitmix64 random(seed);
  for (round& r : rounds_) {
    r.factor = static_cast<vertex>(random()) | 1;
    r.inverse = inverse_of(r.factor);
    r.summand = static_cast<vertex>(random());
  }
}

}  // namespace amity::apps::graph
