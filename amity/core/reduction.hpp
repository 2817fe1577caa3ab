#pragma once

/// What collectives do with the words that the ranks give.

#include <cstdint>

namespace amity::core {

enum class reduction : std::uint32_t {
  none,      ///< barrier
  exchange,  ///< the barrier that an exchange of segments begins with
  ending,    ///< the barrier of ranks whose programs have ended
  sum_u64,
  min_u64,
  max_u64,
  sum_i64,
  min_i64,
  max_i64,
  sum_f64,
  min_f64,
  max_f64,
  scatter_sum_u64,  ///< reduce-scatter: each rank gives a word for each rank, and gets the sum of those given for it
};

/// Applies one step; values are bit patterns of the operation's type. Minima and maxima of doubles are those of IEEE
/// 754-2019: a NaN anywhere makes the result NaN, and -0 is smaller than +0, so that it matters not which rank gave
/// what.
std::uint64_t combine(reduction operation, std::uint64_t a, std::uint64_t b);

/// What error messages and reports call it: "a barrier", "a sum of uint64".
const char* name_of(reduction operation) noexcept;

}  // namespace amity::core
