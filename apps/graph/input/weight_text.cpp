#include "apps/graph/input/weight_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace amity::apps::graph {
namespace {

constexpr std::string_view usable = "shortest paths need weights that are finite and not negative";

/// A sign and digits.
bool is_integer(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether the number is 0 as it is written: all digits before the exponent are 0.
bool means_zero(std::string_view text) {
  return std::ranges::none_of(text.substr(0, text.find_first_of("eE")), [](char c) { return c >= '1' && c <= '9'; });
}

/// Whether a double is exactly the integer that the text means.
bool equals(double number, std::string_view integer) {
  const bool negative = integer.starts_with('-');
  if (negative || integer.starts_with('+')) integer.remove_prefix(1);
  integer.remove_prefix(std::min(integer.find_first_not_of('0'), integer.size()));
  return fmt::format("{:.0f}", std::abs(number)) == integer;
}

weight_problem check_sign(bool negative, const weight_rules& rules) {
  return {negative && !rules.any_sign ? "is negative" : "", std::string(usable)};
}

weight_problem out_of_range(bool large, weight_type type) {
  if (large) {
    return {fmt::format("is too large for {}", name_of(type)),
            type == weight_type::float32 ? "use --weight-type double, or scale the weights" : "scale the weights"};
  }
  return {fmt::format("is too small for {}: it would become 0", name_of(type)),
          type == weight_type::float32 ? "use --weight-type double, write 0, or scale the weights"
                                       : "write 0, or scale the weights"};
}

/// A number that is not an integer, or is to be rounded. `faithful`: it has not become 0 by rounding.
weight_problem check_real(double number, bool faithful, const weight_rules& rules, weight_value& value) {
  if (weight_problem sign = check_sign(number < 0, rules); !sign.reason.empty()) return sign;
  if (std::isinf(number)) return out_of_range(true, weight_type::float64);
  if (!faithful) return out_of_range(false, weight_type::float64);
  if (rules.type == weight_type::int64) {
    return {"is not an integer, which --weight-type int64 requires", "use --weight-type double, or scale the weights"};
  }
  if (rules.type == weight_type::float32) {
    const auto rounded = static_cast<float>(number);
    if (std::isinf(rounded)) return out_of_range(true, weight_type::float32);
    if (rounded == 0 && number != 0) return out_of_range(false, weight_type::float32);
    number = static_cast<double>(rounded);
  }
  value = number == 0 ? 0.0 : number;  // no negative 0
  return {};
}

}  // namespace

bool exact_in_double(std::int64_t integer) {
  const auto number = static_cast<double>(integer);
  return number < 0x1p63 && static_cast<std::int64_t>(number) == integer;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with("+-")) return {};
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc::result_out_of_range) number = std::strtod(std::string(text).c_str(), nullptr);
  if ((failed != std::errc{} && failed != std::errc::result_out_of_range) || end != text.data() + text.size())
    return {};
  return number;
}

weight_problem parse_weight(std::string_view text, const weight_rules& rules, weight_value& value) {
  const bool rounds = rules.type == weight_type::float64 || rules.type == weight_type::float32;
  const bool keeps_integer = !rounds && is_integer(text);
  std::int64_t integer = 0;
  const std::string_view digits = text.substr(text.starts_with('+'));
  if (keeps_integer && std::from_chars(digits.data(), digits.data() + digits.size(), integer).ec == std::errc{}) {
    value = integer;
    return check_sign(integer < 0, rules);
  }
  const auto number = parse_number(text);
  if (!number || std::isnan(*number)) return {"is not a number", "write a decimal number"};
  const bool spelt_out = text.find_first_of("nN") != text.npos;  // "inf", "infinity"
  if (std::isinf(*number) && spelt_out) return {"is not finite", std::string(usable)};
  if (keeps_integer && *number >= 0 && rules.type == weight_type::int64) {
    return {"does not fit into int64", "use --weight-type double, or scale the weights"};
  }
  if (keeps_integer && *number >= 0 && !equals(*number, text)) {
    return {"does not fit into int64, and no double is equal to it",
            "write it with a decimal point to have it rounded"};
  }
  return check_real(*number, *number != 0 || means_zero(text), rules, value);
}

weight_problem check_weight(double number, const weight_rules& rules, weight_value& value) {
  if (std::isnan(number)) return {"is not a number", std::string(usable)};
  if (std::isinf(number)) return {"is not finite", std::string(usable)};
  if (rules.type != weight_type::int64 || number != std::floor(number) || std::abs(number) >= 0x1p63) {
    return check_real(number, true, rules, value);
  }
  if (weight_problem sign = check_sign(number < 0, rules); !sign.reason.empty()) return sign;
  value = static_cast<std::int64_t>(number);
  return {};
}

}  // namespace amity::apps::graph
