#include "amity/core/reduction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "amity/base/assert.hpp"

namespace amity::core {
namespace {

template <class T, class Step>
std::uint64_t step_as(std::uint64_t a, std::uint64_t b, Step step) {
  return std::bit_cast<std::uint64_t>(static_cast<T>(step(std::bit_cast<T>(a), std::bit_cast<T>(b))));
}

constexpr auto smaller = [](auto a, auto b) { return std::min(a, b); };
constexpr auto larger = [](auto a, auto b) { return std::max(a, b); };
constexpr auto plus = [](auto a, auto b) { return a + b; };

double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
double maximum(double a, double b) { return -minimum(-a, -b); }

}  // namespace

const char* name_of(reduction operation) noexcept {
  constexpr const char* names[] = {"a barrier",
                                   "an exchange of segments",
                                   "the barrier at the end of its program",
                                   "a sum of uint64",
                                   "a min of uint64",
                                   "a max of uint64",
                                   "a sum of int64",
                                   "a min of int64",
                                   "a max of int64",
                                   "a sum of double",
                                   "a min of double",
                                   "a max of double",
                                   "a reduce-scatter of uint64"};
  const auto index = static_cast<std::size_t>(operation);
  return index < std::size(names) ? names[index] : "an unknown collective";
}

std::uint64_t combine(reduction operation, std::uint64_t a, std::uint64_t b) {
  switch (operation) {
    case reduction::none:
    case reduction::exchange:
    case reduction::ending:
      return 0;
    case reduction::sum_u64:
    case reduction::sum_i64:
    case reduction::scatter_sum_u64:
      return a + b;  // the same bits, and no overflow that is undefined
    case reduction::min_u64:
      return smaller(a, b);
    case reduction::max_u64:
      return larger(a, b);
    case reduction::min_i64:
      return step_as<std::int64_t>(a, b, smaller);
    case reduction::max_i64:
      return step_as<std::int64_t>(a, b, larger);
    case reduction::sum_f64:
      return step_as<double>(a, b, plus);
    case reduction::min_f64:
      return step_as<double>(a, b, minimum);
    case reduction::max_f64:
      return step_as<double>(a, b, maximum);
  }
  AMITY_ASSERT(false, static_cast<std::uint32_t>(operation));
  return 0;
}

}  // namespace amity::core
