#pragma once

/// Graph500's Kronecker graphs (specification 2.0, "Generating the edge list"): few vertices have most edges.
///
/// An edge is a cell of the adjacency matrix. On each of `scale` levels it falls into one quadrant of what is left,
/// with the probabilities A = 0.57, B = C = 0.19, D = 0.05. Then vertices are renumbered at random, and lengths are
/// uniform in [0, 1). The specification shuffles edges too, so that their order tells nothing; here each is drawn from
/// its index alone, which tells nothing either. Numbers come from other random numbers than in the reference code:
/// graphs are as likely, not equal.

#include <cstdint>
#include <span>

#include "apps/graph/generate/generated.hpp"
#include "apps/graph/store/permutation.hpp"

namespace amity::apps::graph {

struct kronecker_options {
  int scale;                       ///< 2^scale vertices
  std::uint32_t edge_factor = 16;  ///< edges for each vertex
  std::uint64_t seed = 1;
};

class kronecker {
 public:
  /// Throws `amity::error` for a scale outside 1 to 30, and an edge factor outside 1 to 2^20.
  explicit kronecker(const kronecker_options& how);

  generated about() const;
  edge operator()(std::uint64_t index) const;
  void fill(std::uint64_t first, std::span<edge> out) const;

 private:
  kronecker_options how_;
  std::uint64_t key_;
  permutation number_;
};

}  // namespace amity::apps::graph
