#pragma once

/// Random graphs of Erdos and Renyi: both ends of each edge are drawn from all vertices alike.
///
/// A cycle through all vertices in a random order can follow the random edges, so that each vertex can be reached from
/// each other, as in the exploration benchmark of AM++ (Willcock et al., PACT 2010, section 4.2). Lengths are uniform
/// in [0, 1). Loops and repeated edges occur.

#include <cstdint>
#include <span>

#include "apps/graph/generate/generated.hpp"
#include "apps/graph/store/permutation.hpp"

namespace amity::apps::graph {

struct erdos_renyi_options {
  vertex vertices;
  std::uint64_t edges;  ///< drawn; the cycle has as many more as there are vertices
  std::uint64_t seed = 1;
  bool cycle = true;
  bool undirected = false;
};

class erdos_renyi {
 public:
  /// Throws `amity::error` for a graph without vertices, or with more than 2^31.
  explicit erdos_renyi(const erdos_renyi_options& how);

  generated about() const;
  edge operator()(std::uint64_t index) const;
  void fill(std::uint64_t first, std::span<edge> out) const;

 private:
  erdos_renyi_options how_;
  std::uint64_t key_;
  permutation order_;
};

}  // namespace amity::apps::graph
