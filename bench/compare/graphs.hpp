#pragma once

/// The graphs of the comparisons, in the plainest form: edge i is computed from i alone, so that every program, on any
/// number of ranks, searches the same graph, and roots are drawn alike.
///
/// - `erdos_renyi`: 4 n directed edges between uniform vertices.
/// - `kronecker`: 16 n undirected edges by Graph500's initiator, whose vertices are renumbered.
///
/// Lengths are uniform in [0, 1), with 24 bits. Loops and parallel edges occur and are counted as edges.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "amity/base/random.hpp"

namespace amity::bench::compare {

using vertex = std::uint32_t;

struct edge {
  vertex u;
  vertex v;
  float w;
};

class graph {
 public:
  graph(const std::string& model, int scale, std::uint64_t seed = 1)
      : both_ways(model == "kronecker"), scale_(scale), seed_(seed) {
    if (!both_ways && model != "erdos_renyi") throw std::invalid_argument("there is no graph '" + model + "'");
    if (scale < 1 || scale > 30) throw std::invalid_argument("a scale is 1 to 30");
  }

  const bool both_ways;  ///< an edge leads from u to v and from v to u

  vertex vertices() const { return vertex{1} << scale_; }
  std::uint64_t edges() const { return std::uint64_t{both_ways ? 16U : 4U} * vertices(); }

  edge operator()(std::uint64_t i) const {
    const auto w = static_cast<float>(word(seed_ + 1, i) >> 40) * 0x1p-24F;
    if (both_ways) return kronecker(i, w);
    return {within(word(seed_, 2 * i)), within(word(seed_, 2 * i + 1)), w};
  }

  /// The k-th candidate for a root. Those without an edge to another vertex are passed over.
  vertex root(std::uint64_t k) const { return within(word(seed_ + 2, k)); }

 private:
  /// The k-th number of splitmix64(stream mixed).
  static constexpr std::uint64_t word(std::uint64_t stream, std::uint64_t k) {
    return splitmix64::mix(splitmix64::mix(stream) + (k + 1) * 0x9e3779b97f4a7c15U);
  }

  vertex within(std::uint64_t any) const { return static_cast<vertex>(any) & (vertices() - 1); }

  /// Each level picks one of four quadrants of the adjacency matrix with .57, .19, .19, .05.
  edge kronecker(std::uint64_t i, float w) const {
    constexpr auto share = [](double of_one) { return static_cast<std::uint32_t>(of_one * 0x1p32); };
    splitmix64 random(word(seed_, i));
    std::uint64_t bits = 0;
    edge drawn{0, 0, w};
    for (int level = 0; level < scale_; ++level, bits >>= 32) {
      if (level % 2 == 0) bits = random();
      const auto r = static_cast<std::uint32_t>(bits);
      const bool lower = r >= share(.76);
      drawn.u = drawn.u * 2 + lower;
      drawn.v = drawn.v * 2 + ((r >= share(.57)) ^ lower ^ (r >= share(.95)));
    }
    return {renumbered(drawn.u), renumbered(drawn.v), w};
  }

  /// A permutation: otherwise small numbers would have the large degrees.
  vertex renumbered(vertex v) const {
    for (const std::uint32_t odd : {0x9e3779b1U, 0x85ebca6bU}) {
      v = within(v * odd + static_cast<vertex>(seed_));
      v ^= v >> (scale_ / 2 + 1);
    }
    return v;
  }

  int scale_;
  std::uint64_t seed_;
};

}  // namespace amity::bench::compare
