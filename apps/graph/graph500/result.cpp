#include "apps/graph/graph500/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "apps/graph/graph500/statistics.hpp"

namespace amity::apps::graph {
namespace {

std::string line(const std::string& key, const std::string& value) { return fmt::format("{:<32}{}\n", key, value); }
std::string number(double value) { return fmt::format("{:g}", value); }
std::string long_number(double value) { return fmt::format("{:.11g}", value); }

/// "bfs  min_time", "sssp min_time": kernels are aligned.
std::string key_of(const graph500_searches& searches, std::string_view name) {
  return fmt::format("{:<5}{}", searches.kernel, name);
}

/// `key` makes "min" to a line's key.
template <class Key>
std::string spread_lines(const std::vector<double>& values, Key key, std::string (*text)(double) = number) {
  const spread s = spread_of(values);
  return line(key("min"), text(s.min)) + line(key("firstquartile"), text(s.first_quartile)) +
         line(key("median"), text(s.median)) + line(key("thirdquartile"), text(s.third_quartile)) +
         line(key("max"), text(s.max)) + line(key("mean"), text(s.mean)) + line(key("stddev"), text(s.deviation));
}

std::string rate_lines(const graph500_searches& searches, const std::vector<double>& edges) {
  const rate_spread r = rates_of(edges, searches.seconds);
  const auto key = [&](std::string_view what) { return key_of(searches, fmt::format("{}_TEPS:", what)); };
  return line(key("min"), number(r.min)) + line(key("firstquartile"), number(r.first_quartile)) +
         line(key("median"), number(r.median)) + line(key("thirdquartile"), number(r.third_quartile)) +
         line(key("max"), number(r.max)) +
         // The figure that counts has a mark.
         line(fmt::format("{:<29}!", key("harmonic_mean")), number(r.harmonic_mean)) +
         line(key("harmonic_stddev"), number(r.harmonic_deviation));
}

}  // namespace

std::vector<bool> in_small_components(const graph500_result& result) {
  std::vector<bool> small;
  for (const double edges : result.edges)
    small.push_back(edges < small_component_share * static_cast<double>(result.input_edges));
  return small;
}

std::optional<double> harmonic_mean_without_small(const graph500_result& result, const graph500_searches& searches) {
  const std::vector<bool> small = in_small_components(result);
  std::vector<double> edges, seconds;
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (small[i]) continue;
    edges.push_back(result.edges[i]);
    seconds.push_back(searches.seconds[i]);
  }
  if (edges.empty()) return {};
  return rates_of(edges, seconds).harmonic_mean;
}

std::string to_text(const graph500_result& result) {
  std::string text = line("SCALE:", fmt::format("{}", result.scale)) +
                     line("edgefactor:", fmt::format("{}", result.edge_factor)) +
                     line("NBFS:", fmt::format("{}", result.edges.size())) +
                     line("graph_generation:", number(result.generation_seconds)) +
                     line("num_mpi_processes:", fmt::format("{}", result.ranks)) +
                     line("construction_time:", number(result.construction_seconds));
  if (result.edges.empty()) return text;
  for (const auto& searches : result.kernels) {
    text += spread_lines(searches.seconds,
                         [&](std::string_view what) { return key_of(searches, fmt::format("{}_time:", what)); });
  }
  text += spread_lines(
      result.edges, [](std::string_view what) { return fmt::format("{}_nedge:", what); }, long_number);
  for (const auto& searches : result.kernels) text += rate_lines(searches, result.edges);
  for (const auto& searches : result.kernels) {
    if (searches.validate_seconds.empty()) continue;
    text += spread_lines(searches.validate_seconds,
                         [&](std::string_view what) { return key_of(searches, fmt::format("{}_validate:", what)); });
  }
  const std::vector<bool> small = in_small_components(result);
  text += line("small_component_roots:", fmt::format("{}", std::ranges::count(small, true)));
  for (const auto& searches : result.kernels) {
    const auto mean = harmonic_mean_without_small(result, searches);
    text += line(key_of(searches, "without_small_mean_TEPS:"), mean ? number(*mean) : "none");
  }
  for (const auto& searches : result.kernels) {
    if (!searches.weight_type.empty()) text += line(key_of(searches, "weight_type:"), searches.weight_type);
  }
  return text;
}

}  // namespace amity::apps::graph
