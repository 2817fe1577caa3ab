#pragma once

/// Topologies: over which ranks a message travels to its destination, so that a rank talks to few others.
///
/// A topology is a type with `rank_t next_hop(rank_t here, rank_t dest) const`: the rank to which `here` passes on what
/// is for `dest`; it is never asked with `here == dest`. One that also has `void arrange(std::span<const rank_t>
/// nodes)` is told first, once, on which node each rank is: `nodes[rank]`.
///
/// Laws:
/// - The answer depends on `here` and `dest` alone, and is a rank of the job.
/// - From wherever a message is passed on it arrives: following `next_hop` ends at `dest`.
/// - It arrives within `topology_hops_max` hops.
/// A hop that is no rank, and one hop too many, end the job with an `error`.
///
/// The buffers that a rank opens are as many as the ranks that `next_hop` ever names for it: its peers.

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "amity/base/types.hpp"

namespace amity {

inline constexpr int topology_hops_max = 255;

template <class Value>
concept topology = std::copy_constructible<Value> && requires(const Value& t, rank_t here, rank_t dest) {
  { t.next_hop(here, dest) } -> std::same_as<rank_t>;
};

/// One hop, and as many peers as there are ranks. What messages do without a topology.
struct direct {
  static constexpr rank_t next_hop(rank_t, rank_t dest) noexcept { return dest; }
};

/// Ranks stand in rows of about sqrt(P), the last of which may be short; a message moves along its row and along a
/// column. At most 2 hops; at most 2 sqrt(P) peers: the others of its row and of its column. Any P.
class grid {
 public:
  /// Not arranged yet.
  grid() = default;
  explicit constexpr grid(rank_t ranks) noexcept : ranks_(ranks) {
    while (std::int64_t{columns_} * columns_ < ranks) ++columns_;
  }
  void arrange(std::span<const rank_t> nodes) noexcept { *this = grid(static_cast<rank_t>(nodes.size())); }

  // With `here` in row r and column c, and `dest` in row s and column d, two places are both in line with `here` and
  // with `dest`: (r, d) and (s, c). From either one the next hop is `dest`. Only the last row lacks places. If (r, d)
  // is one of them, r is the last row; `dest`, which stands in column d, is in another row then, and that row is full:
  // (s, c) is a rank.
  constexpr rank_t next_hop(rank_t here, rank_t dest) const noexcept {
    const rank_t here_row = here / columns_, dest_row = dest / columns_;
    const rank_t here_column = here - here_row * columns_, dest_column = dest - dest_row * columns_;
    if (here_row == dest_row || here_column == dest_column) return dest;
    const rank_t corner = here_row * columns_ + dest_column;
    return corner < ranks_ ? corner : dest_row * columns_ + here_column;
  }

  constexpr rank_t columns() const noexcept { return columns_; }
  constexpr rank_t rows() const noexcept { return (ranks_ + columns_ - 1) / columns_; }

 private:
  rank_t ranks_ = 1;
  rank_t columns_ = 1;
};

/// A hop changes one bit of the rank's number. At most log2(P) hops and peers, rounded up. Any P, not only powers of
/// two.
class hypercube {
 public:
  /// Not arranged yet.
  hypercube() = default;
  explicit constexpr hypercube(rank_t ranks) noexcept : ranks_(static_cast<std::uint32_t>(ranks)) {}
  void arrange(std::span<const rank_t> nodes) noexcept { *this = hypercube(static_cast<rank_t>(nodes.size())); }

  // The lowest of the wrong bits whose change gives a rank. Each hop leaves one wrong bit less, so the route ends.
  // There always is such a bit: if one is wrong that is set in `here`, clearing it gives a smaller number; and if all
  // wrong bits are set in `dest`, setting any of them gives a number that is at most `dest`.
  constexpr rank_t next_hop(rank_t here, rank_t dest) const noexcept {
    const auto from = static_cast<std::uint32_t>(here);
    std::uint32_t wrong = from ^ static_cast<std::uint32_t>(dest);
    for (;;) {
      const std::uint32_t next = from ^ (wrong & (~wrong + 1));
      wrong &= wrong - 1;
      if (next < ranks_ || wrong == 0) return static_cast<rank_t>(next);
    }
  }

  constexpr int dimensions() const noexcept { return static_cast<int>(std::bit_width(ranks_ - 1)); }

 private:
  std::uint32_t ranks_ = 1;
};

/// One hop across to the destination's node, to the rank there that stands where this one stands here, and one on that
/// node. At most 2 hops; as many peers as there are other nodes and other ranks on this one. Nodes may be uneven: on a
/// smaller node, places are counted around.
class node_aware {
 public:
  /// Not arranged yet.
  node_aware() = default;
  explicit node_aware(std::span<const rank_t> nodes);
  void arrange(std::span<const rank_t> nodes) { *this = node_aware(nodes); }

  // The first hop leads to the destination's node, from which the second one leads to the destination.
  rank_t next_hop(rank_t here, rank_t dest) const noexcept {
    const place &from = places_[static_cast<std::size_t>(here)], &to = places_[static_cast<std::size_t>(dest)];
    if (from.first == to.first) return dest;
    const rank_t member = to.first + from.index % to.ranks;
    return members_[static_cast<std::size_t>(member)];
  }

 private:
  /// Where a rank stands.
  struct place {
    rank_t first;  ///< its node's ranks begin here in `members_`
    rank_t ranks;  ///< of its node
    rank_t index;  ///< its own among them
  };
  std::vector<place> places_;
  std::vector<rank_t> members_;  ///< all ranks, node by node
};

}  // namespace amity
