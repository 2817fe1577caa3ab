#pragma once

/// The graphs of the comparisons: those of apps/graph/generate, in the plainest form. Edge i is computed from i alone,
/// so that every program, on any number of ranks, searches the same graph as amity, and roots are drawn alike.
///
/// - `erdos_renyi`: 4 n directed edges between uniform vertices.
/// - `kronecker`: 16 n undirected edges by Graph500's specification.
///
/// Lengths are uniform in [0, 1), with 24 bits. Loops and parallel edges occur and are counted as edges.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>

#include "amity/base/random.hpp"
#include "apps/graph/generate/erdos_renyi.hpp"
#include "apps/graph/generate/kronecker.hpp"

namespace amity::bench::compare {

using vertex = std::uint32_t;

struct edge {
  vertex u;
  vertex v;
  float w;
};

class graph {
 public:
  graph(const std::string& model, int scale)
      : both_ways(model == "kronecker"), scale_(scale), made_(make(model, scale)) {}

  const bool both_ways;  ///< an edge leads from u to v and from v to u

  vertex vertices() const { return vertex{1} << scale_; }
  std::uint64_t edges() const { return std::uint64_t{both_ways ? 16U : 4U} * vertices(); }

  edge operator()(std::uint64_t i) const {
    return std::visit(
        [i](const auto& made) {
          const auto drawn = made(i);
          return edge{drawn.source, drawn.target, drawn.length};
        },
        made_);
  }

  /// The k-th candidate for a root. Those without an edge to another vertex are passed over.
  vertex root(std::uint64_t k) const { return static_cast<vertex>(splitmix64::mix(k + 1)) & (vertices() - 1); }

 private:
  using generators = std::variant<apps::graph::kronecker, apps::graph::erdos_renyi>;
  static generators make(const std::string& model, int scale) {
    if (scale < 1 || scale > 30) throw std::invalid_argument("a scale is 1 to 30");
    if (model == "kronecker") return apps::graph::kronecker({.scale = scale});
    if (model != "erdos_renyi") throw std::invalid_argument("there is no graph '" + model + "'");
    const vertex vertices = vertex{1} << scale;
    return apps::graph::erdos_renyi({.vertices = vertices, .edges = 4 * std::uint64_t{vertices}, .cycle = false});
  }

  int scale_;
  generators made_;
};

}  // namespace amity::bench::compare
