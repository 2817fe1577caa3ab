#pragma once

/// Medians and quartiles: what a machine that is shared with others leaves meaningful of repeated timings.

#include <cstddef>
#include <utility>
#include <vector>

namespace amity::bench {

/// A median with the quartiles around it.
struct summary {
  double median = 0;
  double low = 0;   ///< first quartile
  double high = 0;  ///< third quartile
};

/// The values must not be empty.
summary summarise(std::vector<double> values);

/// Calls `batch()`, which returns one timing, `batches` times, and returns the median: one preempted batch does not
/// count.
template <class Batch>
double median_of(int batches, Batch&& batch) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(batches));
  for (int i = 0; i < batches; ++i) values.push_back(batch());
  return summarise(std::move(values)).median;
}

}  // namespace amity::bench
