#pragma once

/// A graph dealt to the ranks of a job.
///
/// Rank 0 has read the whole graph. It deals the vertices in the order of falling degree, one to each rank in turn:
/// every rank gets its share of the large and of the small ones, and what searches touch most lies side by side. A
/// vertex is then known by its place, `owner * block + row`; only rank 0 can tell which place is which vertex.
///
/// Memory of a rank: its share of 8 bytes a vertex and one `Arc` an arc, whatever the number of ranks.

#include <span>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/store/csr.hpp"

namespace amity::apps::graph {

/// Where places are: each rank owns `block` of them, the last of which may be nobody's.
class layout {
 public:
  layout(vertex vertices, rank_t ranks);

  vertex block() const { return block_; }
  vertex places() const { return block_ * static_cast<vertex>(ranks_); }
  rank_t owner(vertex place) const { return static_cast<rank_t>(place / block_); }
  vertex place(rank_t owner, vertex row) const { return static_cast<vertex>(owner) * block_ + row; }

 private:
  vertex block_;
  rank_t ranks_;
};

/// The layout as one rank sees it.
class share : public layout {
 public:
  share(const layout& where, rank_t rank) : layout(where), first_(where.place(rank, 0)) {}

  vertex first() const { return first_; }                             ///< place of row 0
  bool owns(vertex place) const { return place - first_ < block(); }  // places before the first wrap around
  vertex row(vertex place) const { return place - first_; }
  vertex place(vertex row) const { return first_ + row; }

 private:
  vertex first_;
};

/// What one rank has of the graph. Targets are places.
template <class Arc>
struct partition {
  share own;
  csr<Arc> rows;
};

/// The place of each vertex of the whole graph.
std::vector<vertex> deal(const csr<arc>& whole, const layout& where);

/// Collective: sends each rank its rows. `whole` and `place_of` are those of rank 0; others give anything. `Arc` is
/// `vertex` or `arc`.
template <class Arc>
partition<Arc> distribute(world& w, const layout& where, const csr<arc>& whole, std::span<const vertex> place_of);

}  // namespace amity::apps::graph
