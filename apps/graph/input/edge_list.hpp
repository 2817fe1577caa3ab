#pragma once

/// A graph as its input gives it: edges in the order of the file, vertices numbered by their labels.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/graph/input/labels.hpp"

namespace amity::apps::graph {

struct edge_list {
  std::string title;            ///< what the graph is, for a person: "graph.mtx", "packages that this machine knows"
  std::string noun = "vertex";  ///< what a vertex is: "package"
  std::string unit;             ///< of a length: "MB"; empty where it has none
  labels names;                 ///< one a vertex
  std::vector<edge> edges;      ///< both ends are below names.size()
  bool has_lengths = false;     ///< the input gave lengths
  bool undirected = false;      ///< each edge may be walked in both directions
  std::string default_root;     ///< label to start from where the user names none; empty: nothing sensible is known

  vertex vertices() const { return names.size(); }
};

}  // namespace amity::apps::graph
