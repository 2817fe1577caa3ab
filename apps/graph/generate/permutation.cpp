#include "apps/graph/generate/permutation.hpp"

#include <algorithm>
#include <bit>

#include "amity/base/random.hpp"

namespace amity::apps::graph {

permutation::permutation(vertex count, std::uint64_t seed) : count_(count) {
  const int bits = std::bit_width(std::max<vertex>(count, 2) - 1);
  mask_ = static_cast<vertex>((std::uint64_t{1} << bits) - 1);
  half_ = (bits + 1) / 2;
  splitmix64 random(seed);
  for (round& r : rounds_) r = {static_cast<vertex>(random()) | 1, static_cast<vertex>(random())};
}

}  // namespace amity::apps::graph
