#include "bench/statistics.hpp"

#include <algorithm>

#include "amity/base/assert.hpp"

namespace amity::bench {
namespace {

/// Linear between the two nearest of sorted values.
double quantile(const std::vector<double>& sorted, double part) {
  const double position = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

summary summarise(std::vector<double> values) {
  AMITY_ASSERT(!values.empty());
  std::ranges::sort(values);
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

}  // namespace amity::bench
