#pragma once

/// Sparse matrix-vector products with the matrix transposed: y = A^T x.
///
/// A matrix is a distributed graph: the arc from vertex i to vertex j of length a is the entry a in row i and column j.
/// Vectors are given by parts, with an entry for each row of the graph's.

#include <memory>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/meter.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

using matrix_entry = weighted_arc<double>;
using distributed_vector = std::vector<large_array<double>>;  ///< of this rank's threads, by rows

/// Multiplies with one matrix any number of times.
class transposed_product {
 public:
  /// Collective, as is the destruction. The matrix must live as long.
  transposed_product(world& w, const distributed_graph<matrix_entry>& matrix);
  ~transposed_product();

  /// Collective: y, whatever it was before, becomes A^T x. Sums are added up in the order in which messages come, so
  /// that their last bits vary.
  cost run(const distributed_vector& x, distributed_vector& y);

  /// What became of this rank's messages.
  message_counters counters() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

/// Collective: how far y is from A^T x, relative to the sum of all products without their signs: some 1e-14 where y is
/// right, by rounding, and 0 where all are whole numbers. With a vector r of random numbers, which every rank can
/// compute, r . y is (A r) . x: so no message is needed. One of 4,096 wrong y may pass.
double product_error(world& w, const distributed_graph<matrix_entry>& matrix, const distributed_vector& x,
                     const distributed_vector& y);

}  // namespace amity::apps::graph
