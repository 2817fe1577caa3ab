#pragma once

/// Weights of edges as text.
///
/// An integer, which is a sign and digits, is an int64. Any other number is the nearest double. An integer that int64
/// cannot hold is a double if that is exact. No weight becomes 0 or infinite by rounding.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "apps/graph/input/weight_type.hpp"

namespace amity::apps::graph {

using weight_value = std::variant<std::int64_t, double>;

/// Which weights a kernel takes.
struct weight_rules {
  /// If it is set, other weights are errors (int64), or rounded to the nearest value of the type (double, float32).
  std::optional<weight_type> type = {};
  bool any_sign = false;  ///< entries of a matrix, which may be negative
};

/// Why a weight cannot be used, and the remedy; an empty reason means that it can be used.
struct weight_problem {
  std::string reason;  ///< follows the weight in a sentence: "is negative"
  std::string remedy = {};
};

/// Changes `value` if the text has no problem. If the rules name a floating-point type, `value` is a double.
weight_problem parse_weight(std::string_view text, const weight_rules& rules, weight_value& value);

/// Checks a number that is not text by the same rules.
weight_problem check_weight(double number, const weight_rules& rules, weight_value& value);

/// Whether a double equals this integer.
bool exact_in_double(std::int64_t integer);

/// The number that a text means: infinite or 0 if it exceeds the range of double. Nothing for other text.
std::optional<double> parse_number(std::string_view text);

}  // namespace amity::apps::graph
