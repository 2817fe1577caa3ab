#pragma once

/// What one rank has read of a graph: edges in the order of the input, vertices numbered by their labels as this rank
/// has met them. `assemble` (graph_share.hpp) makes one graph of what all ranks have read.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/graph/input/labels.hpp"
#include "apps/graph/input/weight_list.hpp"

namespace amity::apps::graph {

/// What all ranks have read together.
struct totals {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t listed = 0;
  std::uint64_t unpaired = 0;
};

/// An edge without its weight.
struct edge_ends {
  vertex source;
  vertex target;
};

struct edge_list {
  std::string title;             ///< what the graph is, for a person: "graph.mtx", "packages that this machine knows"
  std::string noun = "vertex";   ///< what a vertex is: "package"
  std::string unit;              ///< of a length: "MB"; empty where it has none
  labels names;                  ///< one a vertex
  std::vector<edge_ends> edges;  ///< both ends are below names.size()
  weight_list weights;           ///< one for each edge; none if the input gave none, or they are not used
  bool has_lengths = false;      ///< the input gave weights
  bool undirected = false;       ///< each edge may be traversed in both directions
  std::string default_root;      ///< label to start from where the user names none; empty: nothing sensible is known

  /// A block of the input (input.hpp), and how many edges and labels the rank had in front of it.
  struct block_start {
    std::uint64_t block;
    std::uint64_t edges;
    vertex labels;
  };
  std::vector<block_start> blocks;  ///< those that gave any, in their order

  std::uint64_t listed = 0;    ///< entries, where a format has several for an edge
  std::uint64_t unpaired = 0;  ///< where both ends list an edge: a sum over entries in which two equal ones cancel out
  std::function<void(const totals&)> check;  ///< throws `input_error` if what all have read is no whole graph

  vertex vertices() const { return names.size(); }

  /// What is added from now on comes from this block.
  void enter(std::uint64_t block) {
    if (blocks.empty() || blocks.back().block != block) blocks.push_back({block, edges.size(), names.size()});
  }
};

}  // namespace amity::apps::graph
