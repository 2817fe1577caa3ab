#include "apps/graph/console/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace amity::apps::graph {
namespace {

/// `value` with three digits and the first unit, each 1000 times the one before, that leaves it below 1000.
template <std::size_t Units>
std::string scaled(double value, const std::array<std::string_view, Units>& units) {
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < Units; ++unit) value /= 1000;
  const int decimals = value >= 99.95 || value == std::floor(value) ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string plural(std::string_view noun) { return noun == "vertex" ? "vertices" : std::string(noun) + "s"; }

std::string counted(std::uint64_t n, std::string_view noun) {
  return n == 1 ? fmt::format("1 {}", noun) : fmt::format("{} {}", grouped(n), plural(noun));
}

std::string bytes_text(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes), std::to_array<std::string_view>({"B", "kB", "MB", "GB", "TB"}));
}

std::string duration_text(std::uint64_t ns) {
  return scaled(static_cast<double>(ns), std::to_array<std::string_view>({"ns", "us", "ms", "s"}));
}

std::string rate_text(double per_second) {
  return scaled(per_second, std::to_array<std::string_view>({"", "k", "M", "G"}));
}

std::string bar(double share, std::size_t width) {
  const auto length = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  return std::string(std::min(width, std::max<std::size_t>(length, share > 0 ? 1 : 0)), '#');
}

}  // namespace amity::apps::graph
