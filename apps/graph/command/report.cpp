#include "apps/graph/command/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/graph/console/text.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::size_t bar_width = 40;
constexpr std::size_t bins_shown_max = 40;  // a long chain has thousands of levels

bool is_bfs(const report& r) { return r.search == options::algorithm::bfs; }

std::string distance_text(const report& r, double distance) {
  if (is_bfs(r)) return fmt::format("{:.0f}", distance);
  return r.unit.empty() ? fmt::format("{:.4g}", distance) : fmt::format("{:.4g} {}", distance, r.unit);
}

std::string histogram_text(const report& r) {
  std::string text = fmt::format("  {:>9} {:>10}\n", is_bfs(r) ? "level" : "from", plural(r.noun));
  std::uint64_t most = 1;
  for (const bin& b : r.histogram) most = std::max(most, b.vertices);
  const std::size_t shown = std::min(bins_shown_max, r.histogram.size());
  for (const bin& b : std::span(r.histogram).first(shown)) {
    const double share = static_cast<double>(b.vertices) / static_cast<double>(most);
    text += fmt::format("  {:>9} {:>10}  {}\n", distance_text(r, b.from), grouped(b.vertices), bar(share, bar_width));
  }
  if (shown < r.histogram.size()) text += fmt::format("  and {} more\n", grouped(r.histogram.size() - shown));
  return text;
}

/// Long chains keep their ends.
std::string route_text(const route& r) {
  constexpr std::size_t steps_shown_max = 24;
  const std::size_t count = r.labels.size();
  if (count <= steps_shown_max) return fmt::format("{}", fmt::join(r.labels, " -> "));
  const std::span<const std::string> steps(r.labels);
  return fmt::format("{} -> ... {} more ... -> {}", fmt::join(steps.first(steps_shown_max / 2), " -> "),
                     count - steps_shown_max, fmt::join(steps.last(steps_shown_max / 2), " -> "));
}

}  // namespace

double report::edges_per_second() const {
  return spent.ns == 0 ? 0 : static_cast<double>(edges_walked) * 1e9 / static_cast<double>(spent.ns);
}

double report::messages_per_packet() const {
  return spent.packets == 0 ? 0 : static_cast<double>(spent.messages) / static_cast<double>(spent.packets);
}

std::string to_text(const report& r) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<22}{}\n", name, value);
  };
  text += fmt::format("\n{} from {} over {}\n", is_bfs(r) ? "Breadth-first search" : "Shortest paths", r.root, r.title);
  line("ranks", fmt::format("{} on fabric {}", r.ranks, r.fabric));
  line("vertices", grouped(r.vertices));
  line("edges", grouped(r.edges) + (r.undirected ? ", both ways" : ""));
  if (!is_bfs(r)) line("lengths", r.unit.empty() ? r.lengths : fmt::format("{}, in {}", r.lengths, r.unit));
  line("reached", fmt::format("{} ({:.1f} %)", grouped(r.reached),
                              100 * static_cast<double>(r.reached) / static_cast<double>(r.vertices)));
  line(is_bfs(r) ? "levels" : "buckets", grouped(r.rounds));
  line(r.virtual_time ? "simulated seconds" : "seconds",
       fmt::format("{:.6f}{}", static_cast<double>(r.spent.ns) * 1e-9,
                   r.repeats > 1 ? fmt::format(", median of {}", r.repeats) : ""));
  line("edges/s", rate_text(r.edges_per_second()));
  line("messages", grouped(r.spent.messages));
  line("bytes", bytes_text(r.spent.bytes));
  line("messages per packet", fmt::format("{:.1f}", r.messages_per_packet()));
  line("checked", r.verified ? "equal to the sequential answer" : "no");
  text += fmt::format("\n{}", histogram_text(r));
  if (!r.farthest.empty()) text += fmt::format("\n  farthest {}, with a shortest path to each\n", plural(r.noun));
  for (const route& far : r.farthest) {
    text += fmt::format("  {:>9}  {}\n             {}\n", distance_text(r, far.distance), far.labels.back(),
                        route_text(far));
  }
  return text;
}

std::string to_json(const report& r) {
  nlohmann::ordered_json json = {
      {"search", is_bfs(r) ? "bfs" : "sssp"},
      {"graph", r.title},
      {"root", r.root},
      {"ranks", r.ranks},
      {"fabric", r.fabric},
      {"virtual_time", r.virtual_time},
      {"undirected", r.undirected},
      {"vertices", r.vertices},
      {"edges", r.edges},
      {"reached", r.reached},
      {is_bfs(r) ? "levels" : "buckets", r.rounds},
      {"repeats", r.repeats},
      {"seconds", static_cast<double>(r.spent.ns) * 1e-9},
      {"edges_walked", r.edges_walked},
      {"edges_per_second", r.edges_per_second()},
      {"messages", r.spent.messages},
      {"packets", r.spent.packets},
      {"bytes", r.spent.bytes},
      {"messages_per_packet", r.messages_per_packet()},
      {"verified", r.verified},
  };
  if (!is_bfs(r)) json["lengths"] = r.lengths;
  if (!r.unit.empty()) json["unit"] = r.unit;
  json["histogram"] = nlohmann::ordered_json::array();
  for (const bin& b : r.histogram) json["histogram"].push_back({{"from", b.from}, {"vertices", b.vertices}});
  json["farthest"] = nlohmann::ordered_json::array();
  for (const route& far : r.farthest) {
    json["farthest"].push_back({{"label", far.labels.back()}, {"distance", far.distance}, {"path", far.labels}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace amity::apps::graph
