#pragma once

/// A graph that the ranks of a job have together.
///
/// Memory of a job: one `Arc` an arc and 16 bytes a vertex. An undirected edge is two arcs. So an undirected graph
/// whose arcs are bare targets, with 16 edges a vertex, takes 9 bytes an edge.

#include <cstdint>
#include <vector>

#include "apps/graph/store/csr.hpp"
#include "apps/graph/store/distribution.hpp"
#include "apps/graph/store/places.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

/// What one thread has of it. `Arc` is `vertex`, or a `weighted_arc` where lengths matter; targets are places. The arcs
/// of a row go by rising length, and equally long arcs by falling degree of their targets: what is looked at
/// first is likeliest to matter.
template <class Arc>
struct graph_part {
  csr<Arc> rows;
  large_array<vertex> vertex_of;  ///< of each row
  /// Arcs of each row in the input, before repeats were dropped; 2^32 - 1 stands for more too.
  large_array<std::uint32_t> input_degree;
  vertex first = 0;   ///< place of row 0
  vertex joined = 0;  ///< rows that have arcs, which come first

  vertex size() const { return static_cast<vertex>(vertex_of.size()); }
};

template <class Arc>
struct distributed_graph {
  places where;
  dealing owners;
  std::vector<graph_part<Arc>> parts;  ///< of this rank's threads
  bool undirected = false;             ///< each edge is two arcs
  std::uint64_t edges = 0;             ///< that the input has, on all ranks
  std::uint64_t arcs = 0;              ///< that are kept, on all ranks

  vertex vertices() const { return owners.count(); }
  graph_part<Arc>& of(const thread& t) { return parts[static_cast<std::size_t>(t.thread_index())]; }
  const graph_part<Arc>& of(const thread& t) const { return parts[static_cast<std::size_t>(t.thread_index())]; }
  /// Bytes of this rank's parts.
  std::uint64_t bytes() const;
};

/// Collective: the place of a vertex, on all ranks; `no_vertex` if there is none of that number.
template <class Arc>
vertex find_place(world& w, const distributed_graph<Arc>& graph, vertex wanted);

}  // namespace amity::apps::graph
