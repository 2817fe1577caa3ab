/// Compares one product with a random vector in place of the vectors' entries (Freivalds, 1977).

#include "apps/graph/kernels/transposed_product.hpp"

#include <algorithm>
#include <cmath>

#include "amity/base/random.hpp"

namespace amity::apps::graph {
namespace {

/// Whole numbers, so that products of whole numbers stay exact.
double random_entry(vertex place) { return static_cast<double>(splitmix64::mix(place) >> 52); }

}  // namespace

double product_error(world& w, const distributed_graph<matrix_entry>& matrix, const distributed_vector& x,
                     const distributed_vector& y) {
  double expected = 0, found = 0, size = 0;
  for (std::size_t i = 0; i < matrix.parts.size(); ++i) {
    const auto& part = matrix.parts[i];
    for (vertex row = 0; row < part.size(); ++row) {
      double product = 0, most = 0;
      for (const matrix_entry& entry : part.rows[row]) {
        const double each = entry.length * random_entry(entry.target);
        product += each;
        most += std::abs(each);
      }
      expected += product * x[i][row];
      size += most * std::abs(x[i][row]);
      found += random_entry(part.first + row) * y[i][row];
    }
  }
  const double difference = std::abs(w.sum(expected) - w.sum(found));
  return difference == 0 ? 0 : difference / std::max(w.sum(size), 1e-300);
}

}  // namespace amity::apps::graph
