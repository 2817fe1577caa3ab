#pragma once

/// An order of all vertices by falling degree, as far as the degrees in different parts go together: first the rows 0
/// of all parts, then the rows 1, and so on. The arcs of each row have their targets in this order.

#include <bit>

#include "apps/graph/store/places.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

/// A vertex's number in the order.
class order {
 public:
  explicit order(const places& where)
      : row_bits_(std::countr_zero(where.block())),
        part_bits_(static_cast<int>(std::bit_width(where.count() - 1)) - row_bits_),
        thread_mask_(static_cast<vertex>(where.place(1, 0, 0) >> row_bits_) - 1),
        thread_bits_(std::popcount(thread_mask_)) {}

  vertex number(vertex place) const { return (place & ones(row_bits_)) << part_bits_ | place >> row_bits_; }
  vertex place(vertex number) const { return part(number) << row_bits_ | row(number); }
  vertex part(vertex number) const { return number & ones(part_bits_); }
  vertex row(vertex number) const { return number >> part_bits_; }
  vertex at(vertex part, vertex row) const { return row << part_bits_ | part; }
  rank_t rank(vertex number) const { return static_cast<rank_t>(part(number) >> thread_bits_); }
  vertex thread(vertex number) const { return number & thread_mask_; }

 private:
  static constexpr vertex ones(int count) { return (vertex{1} << count) - 1; }

  int row_bits_;
  int part_bits_;
  vertex thread_mask_;
  int thread_bits_;
};

}  // namespace amity::apps::graph
