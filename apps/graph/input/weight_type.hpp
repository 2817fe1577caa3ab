#pragma once

/// The types of weights and distances that the command offers, and the choice between them at run time.

#include <cstdint>
#include <optional>
#include <string_view>

#include "apps/graph/types.hpp"

namespace amity::apps::graph {

enum class weight_type {
  int64,    ///< exact, up to 2^63 - 2
  float64,  ///< about 16 digits
  float32,  ///< about 7 digits
};

/// "int64", "double" or "float32".
constexpr std::string_view name_of(weight_type type) {
  return type == weight_type::int64 ? "int64" : type == weight_type::float64 ? "double" : "float32";
}

constexpr std::optional<weight_type> parse_weight_type(std::string_view name) {
  for (const weight_type each : {weight_type::int64, weight_type::float64, weight_type::float32}) {
    if (name == name_of(each)) return each;
  }
  return {};
}

/// Calls `use.template operator()<Weight>()` with the C++ type.
template <class Use>
decltype(auto) with_weight_type(weight_type type, Use use) {
  switch (type) {
    case weight_type::int64:
      return use.template operator()<std::int64_t>();
    case weight_type::float64:
      return use.template operator()<double>();
    case weight_type::float32:
      break;
  }
  return use.template operator()<float>();
}

}  // namespace amity::apps::graph
