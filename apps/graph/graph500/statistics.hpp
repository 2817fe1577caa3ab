#pragma once

/// The figures that Graph500 wants of many searches (specification, "Output"), as its reference code computes them.

#include <span>

namespace amity::apps::graph {

struct spread {
  double min, first_quartile, median, third_quartile, max;
  double mean;
  double deviation;  ///< of the sample; 0 for a single value
};

/// Quartiles between two values are the middle of both. `values` are not empty.
spread spread_of(std::span<const double> values);

/// Of rates: work done per second.
struct rate_spread {
  double min, first_quartile, median, third_quartile, max;
  double harmonic_mean;
  /// The standard error of the harmonic mean (Norris, Annals of Mathematical Statistics 11, 1940); 0 for a single one.
  double harmonic_deviation;
};

/// `work[i]` was done in `seconds[i]`.
rate_spread rates_of(std::span<const double> work, std::span<const double> seconds);

}  // namespace amity::apps::graph
