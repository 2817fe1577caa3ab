#include "apps/graph/graph500/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace amity::apps::graph {

spread spread_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t count = sorted.size(), last = count - 1;
  const auto between = [&](std::size_t i, std::size_t j) { return (sorted[i] + sorted[j]) / 2; };
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(count);
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.min = sorted.front(),
          .first_quartile = between(last / 4, count / 4),
          .median = between(last / 2, count / 2),
          .third_quartile = between(last - last / 4, last - count / 4),
          .max = sorted.back(),
          .mean = mean,
          .deviation = count > 1 ? std::sqrt(squares / static_cast<double>(last)) : 0};
}

rate_spread rates_of(std::span<const double> work, std::span<const double> seconds) {
  std::vector<double> each(work.size());
  std::ranges::transform(seconds, work, each.begin(), [](double time, double done) { return time / done; });
  const spread s = spread_of(each);
  const double others = static_cast<double>(each.size() - 1);
  return {.min = 1 / s.max,
          .first_quartile = 1 / s.third_quartile,
          .median = 1 / s.median,
          .third_quartile = 1 / s.first_quartile,
          .max = 1 / s.min,
          .harmonic_mean = 1 / s.mean,
          .harmonic_deviation = each.size() > 1 ? s.deviation / (s.mean * s.mean * std::sqrt(others)) : 0};
}

}  // namespace amity::apps::graph
