#pragma once

/// Adjacency in compressed rows: the arcs that leave a row lie side by side.
///
/// An arc is whatever a kernel wants of it: the bare target for a breadth-first search, target and length for shortest
/// paths. Memory: 8 bytes a row and one `Arc` an arc.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "amity/base/large_array.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

/// Packed: an arc of 8-byte weights takes 12 bytes.
template <weight Weight>
struct [[gnu::packed, gnu::aligned(4)]] weighted_arc {
  vertex target;
  Weight length;
};
using arc = weighted_arc<float>;
static_assert(sizeof(arc) == 8 && sizeof(weighted_arc<double>) == 12);

inline vertex target_of(vertex bare) { return bare; }
template <class Weight>
vertex target_of(const weighted_arc<Weight>& a) {
  return a.target;
}

/// The weight of an arc: `float` for arcs without, whose edges have a weight that is not used.
template <class Arc>
struct weight_of_arc {
  using type = float;
};
template <class Weight>
struct weight_of_arc<weighted_arc<Weight>> {
  using type = Weight;
};
template <class Arc>
using weight_of = typename weight_of_arc<Arc>::type;

template <class Arc>
class csr {
 public:
  csr() = default;

  /// Rows of the given degrees, whose arcs are still to be written. The last entry of `degrees` counts for nothing: it
  /// makes room.
  explicit csr(large_array<std::uint64_t> degrees) : first_(std::move(degrees)) {
    std::exclusive_scan(first_.begin(), first_.end(), first_.begin(), std::uint64_t{0});
    arcs_.resize(first_.back());
  }

  /// `for_each_arc(visit)` calls visit(row, arc) for every arc; it is called twice and does the same both times. Rows
  /// keep the order of the visits.
  template <class ForEachArc>
  csr(vertex rows, ForEachArc for_each_arc) : first_(std::size_t{rows} + 1) {
    for_each_arc([&](vertex row, const Arc&) { ++first_[row + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    arcs_.resize(first_.back());
    std::vector<std::uint64_t> next(first_.begin(), first_.end() - 1);
    for_each_arc([&](vertex row, const Arc& a) { arcs_[next[row]++] = a; });
  }

  vertex rows() const { return first_.empty() ? 0 : static_cast<vertex>(first_.size() - 1); }
  std::span<const Arc> arcs() const { return arcs_; }
  std::span<Arc> arcs() { return arcs_; }
  std::uint64_t first(vertex row) const { return first_[row]; }  ///< its first arc's index in arcs()
  std::uint64_t degree(vertex row) const { return first_[row + 1] - first_[row]; }
  std::span<const Arc> operator[](vertex row) const { return {arcs_.data() + first_[row], degree(row)}; }

  /// Lets `change(row, arcs)` change each row's arcs and say how many of them stay.
  template <class Change>
  void shrink_rows(Change change) {
    std::uint64_t end = 0;
    for (vertex row = 0; row < rows(); ++row) {
      const std::span<Arc> all{arcs_.data() + first_[row], degree(row)};
      const std::uint64_t kept = change(row, all);
      std::copy_n(all.begin(), kept, arcs_.begin() + static_cast<std::ptrdiff_t>(end));
      first_[row] = end;
      end += kept;
    }
    if (!first_.empty()) first_.back() = end;
    arcs_.resize(end);
  }

  std::uint64_t bytes() const { return first_.size() * sizeof(std::uint64_t) + arcs_.size() * sizeof(Arc); }

  /// Searches come to rows in any order. To call this for `rows[i]` whenever rows[i - 1] has been dealt with hides most
  /// of the time that memory takes.
  template <class Rows, class RowOf>
  void prefetch_after(const Rows& upcoming, std::size_t i, RowOf row_of) const {
    constexpr std::size_t ahead = 8;
    if (i + 2 * ahead < upcoming.size()) __builtin_prefetch(&first_[row_of(upcoming[i + 2 * ahead])]);
    if (i + ahead < upcoming.size()) __builtin_prefetch(arcs_.data() + first_[row_of(upcoming[i + ahead])]);
  }

 private:
  large_array<std::uint64_t> first_;  // rows + 1 of them
  large_array<Arc> arcs_;
};

}  // namespace amity::apps::graph
