#pragma once

/// Rows of results: what was measured, beside what it is compared with and what is asked of it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/statistics.hpp"

namespace amity::bench {

struct row;

/// A bound that a row should meet.
struct asked {
  enum class quantity { value, ratio_to_peer, ratio_to_limit };
  enum class sense { at_most, at_least };

  quantity of;
  sense is;
  double bound;

  /// "<= 0.17 us", "ratio <= 0.7", "of limit >= 0.75".
  std::string text(const std::string& unit) const;
  /// Nothing where the row lacks the peer or the limit.
  std::optional<bool> met(const row& result) const;
};

constexpr asked at_most(double bound) { return {asked::quantity::value, asked::sense::at_most, bound}; }
constexpr asked at_least(double bound) { return {asked::quantity::value, asked::sense::at_least, bound}; }
constexpr asked ratio_at_most(double bound) { return {asked::quantity::ratio_to_peer, asked::sense::at_most, bound}; }
constexpr asked ratio_at_least(double bound) { return {asked::quantity::ratio_to_peer, asked::sense::at_least, bound}; }
constexpr asked limit_at_most(double bound) { return {asked::quantity::ratio_to_limit, asked::sense::at_most, bound}; }
constexpr asked limit_at_least(double bound) {
  return {asked::quantity::ratio_to_limit, asked::sense::at_least, bound};
}

/// Somebody else's value for the same thing, measured in turn with ours.
struct comparison {
  std::string name;
  double value = 0;  ///< median
  double ratio = 0;  ///< ours / theirs: median of the rounds' ratios
};

struct row {
  std::string bench;
  std::string config;
  std::string metric;
  std::string unit;
  summary value;
  std::optional<comparison> peer = {};
  std::optional<comparison> limit = {};
  std::vector<asked> wanted = {};
};

/// The rows as an aligned table, with a line of headings.
std::string to_table(std::span<const row> rows);

/// The rows as an array of objects: bench, config, metric, unit, value, low, high and, where there is one, peer,
/// peer_value, ratio, limit, limit_value, asked (a text), met.
nlohmann::json to_json(std::span<const row> rows);

}  // namespace amity::bench
