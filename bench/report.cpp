#include "bench/report.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amity::bench {
namespace {

std::string number(double value) {
  const double size = value < 0 ? -value : value;
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

/// All bounds of a row in one text; with `verdicts` each is followed by whether it is met.
std::string asked_text(const row& result, bool verdicts = false) {
  std::string text;
  for (const auto& bound : result.wanted) {
    if (!text.empty()) text += "; ";
    text += bound.text(result.unit);
    const auto met = bound.met(result);
    if (verdicts && met) text += *met ? " (met)" : " (SHORT)";
  }
  return text;
}

/// Nothing where nothing is asked, or where it cannot be told.
std::optional<bool> all_met(const row& result) {
  std::optional<bool> all;
  for (const auto& bound : result.wanted) {
    const auto met = bound.met(result);
    if (!met) return std::nullopt;
    all = all.value_or(true) && *met;
  }
  return all;
}

using cells = std::array<std::string, 8>;

cells to_cells(const row& result) {
  cells line{result.bench, result.config, result.metric};
  line[3] = fmt::format("{} {}", number(result.value.median), result.unit);
  line[4] = fmt::format("{}..{}", number(result.value.low), number(result.value.high));
  if (const auto& peer = result.peer) {
    line[5] = fmt::format("{:.2f} x {} {}", peer->ratio, number(peer->value), peer->name);
  }
  if (const auto& limit = result.limit) {
    line[6] = fmt::format("{:.2f} x {} {}", limit->ratio, number(limit->value), limit->name);
  }
  line[7] = asked_text(result, true);
  return line;
}

}  // namespace

std::string asked::text(const std::string& unit) const {
  const auto* sign = is == sense::at_most ? "<=" : ">=";
  switch (of) {
    case quantity::value:
      return fmt::format("{} {:g} {}", sign, bound, unit);
    case quantity::ratio_to_peer:
      return fmt::format("ratio {} {:g}", sign, bound);
    case quantity::ratio_to_limit:
      return fmt::format("of limit {} {:g}", sign, bound);
  }
  return {};
}

std::optional<bool> asked::met(const row& result) const {
  double value = result.value.median;
  if (of != quantity::value) {
    const auto& other = of == quantity::ratio_to_peer ? result.peer : result.limit;
    if (!other) return std::nullopt;
    value = other->ratio;
  }
  return is == sense::at_most ? value <= bound : value >= bound;
}

std::string to_table(std::span<const row> rows) {
  std::vector<cells> lines{
      {"bench", "config", "metric", "value", "quartiles", "ratio x peer", "ratio x limit", "asked"}};
  for (const auto& result : rows) lines.push_back(to_cells(result));

  std::array<std::size_t, std::tuple_size_v<cells>> widths{};
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string table;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      // A column that no row uses is left out; figures stand at the right of their column.
      if (i >= 5 && widths[i] == lines[0][i].size() &&
          std::ranges::all_of(lines.begin() + 1, lines.end(), [&](const cells& other) { return other[i].empty(); })) {
        continue;
      }
      text += i == 3 ? fmt::format("{:>{}}  ", line[i], widths[i]) : fmt::format("{:<{}}  ", line[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    table += text + '\n';
  }
  return table;
}

nlohmann::json to_json(std::span<const row> rows) {
  auto array = nlohmann::json::array();
  for (const auto& result : rows) {
    nlohmann::json object{{"bench", result.bench},    {"config", result.config},      {"metric", result.metric},
                          {"unit", result.unit},      {"value", result.value.median}, {"low", result.value.low},
                          {"high", result.value.high}};
    if (const auto& peer = result.peer) {
      object.update({{"peer", peer->name}, {"peer_value", peer->value}, {"ratio", peer->ratio}});
    }
    if (const auto& limit = result.limit) object.update({{"limit", limit->name}, {"limit_value", limit->value}});
    if (!result.wanted.empty()) object["asked"] = asked_text(result);
    if (const auto met = all_met(result)) object["met"] = *met;
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace amity::bench
