/// Breadth-first search and shortest paths, from loading a graph to reporting what was found.

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "apps/graph/collect.hpp"
#include "apps/graph/command/kernels.hpp"
#include "apps/graph/command/loaded_graph.hpp"
#include "apps/graph/command/output.hpp"
#include "apps/graph/command/roots.hpp"
#include "apps/graph/command/search_summary.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/kernels/bfs.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/build.hpp"
#include "apps/graph/verify/overflow.hpp"
#include "apps/graph/verify/proof.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::size_t bar_width = 40;
constexpr std::size_t bins_shown_max = 40;  // a long chain has thousands of levels

/// Both kinds of search, as the rest of this file sees them.
template <class Search>
struct words;
template <>
struct words<breadth_first_search> {
  static constexpr const char* headline = "Breadth-first search";
  static constexpr const char* round = "level";
  static constexpr const char* bin = "level";
  using distance = level;
  using arc_type = vertex;
};
template <class Weight>
struct words<delta_stepping<Weight>> {
  static constexpr const char* headline = "Shortest paths";
  static constexpr const char* round = "bucket";
  static constexpr const char* bin = "from";
  using distance = Weight;
  using arc_type = weighted_arc<Weight>;
};

/// Levels and integers exactly, other distances with 4 digits.
template <class Distance>
std::string distance_text(Distance distance, const std::string& unit) {
  std::string text;
  if constexpr (std::integral<Distance>) {
    text = fmt::format("{}", distance);
  } else {
    text = fmt::format("{:.4g}", distance);
  }
  return unit.empty() ? text : text + " " + unit;
}

std::uint64_t count_reached(world& w, const auto& found) {
  std::uint64_t reached = 0;
  for (const auto& part : found.parts)
    reached += static_cast<std::uint64_t>(part.parent.size()) -
               static_cast<std::uint64_t>(std::ranges::count(part.parent, no_vertex));
  return w.sum(reached);
}

/// Of the vertices with most arcs, the one that reaches most. Looks at a bounded number of arcs, then takes the best so
/// far.
template <class Search, class Arc>
vertex far_reaching_root(world& w, const distributed_graph<Arc>& graph, Search& search) {
  constexpr std::size_t candidates_max = 8;
  constexpr std::uint64_t arcs_max = 4'000'000;
  vertex best = no_vertex;
  std::uint64_t best_reach = 0;
  std::uint64_t arcs = 0;
  for (const vertex root : largest_vertices(w, graph, candidates_max)) {
    if (best != no_vertex && arcs >= arcs_max) break;
    const std::uint64_t reach = count_reached(w, search.run(root, [](std::uint32_t, std::uint64_t) {}));
    if (reach > std::exchange(best_reach, std::max(reach, best_reach))) best = root;
    arcs += graph.arcs;
  }
  return best;
}

template <class Distance>
std::string histogram_text(const std::vector<bin>& histogram, const char* heading, const loaded_graph& input) {
  constexpr bool is_level = std::same_as<Distance, level>;
  std::string text = fmt::format("  {:>9} {:>10}\n", heading, plural(input.noun));
  std::uint64_t most = 1;
  for (const bin& b : histogram) most = std::max(most, b.vertices);
  const std::size_t shown = std::min(bins_shown_max, histogram.size());
  for (const bin& b : std::span(histogram).first(shown)) {
    const double share = static_cast<double>(b.vertices) / static_cast<double>(most);
    text +=
        fmt::format("  {:>9} {:>10}  {}\n", distance_text(static_cast<Distance>(b.from), is_level ? "" : input.unit),
                    grouped(b.vertices), bar(share, bar_width));
  }
  if (shown < histogram.size()) text += fmt::format("  and {} more\n", grouped(histogram.size() - shown));
  return text;
}

/// Long chains keep their ends.
std::string route_text(const std::vector<std::string>& labels) {
  constexpr std::size_t steps_shown_max = 24;
  const std::size_t count = labels.size();
  if (count <= steps_shown_max) return fmt::format("{}", fmt::join(labels, " -> "));
  const std::span<const std::string> steps(labels);
  return fmt::format("{} -> ... {} more ... -> {}", fmt::join(steps.first(steps_shown_max / 2), " -> "),
                     count - steps_shown_max, fmt::join(steps.last(steps_shown_max / 2), " -> "));
}

/// The labels of some vertices that rank 0 asks for. Collective.
template <class Distance>
std::vector<std::vector<std::string>> labels_of(world& w, const loaded_graph& input,
                                                const std::vector<route<Distance>>& routes) {
  std::vector<vertex> wanted;
  for (const auto& r : routes) wanted.insert(wanted.end(), r.steps.begin(), r.steps.end());
  const std::vector<std::string> texts = input.names.texts(w, wanted);
  std::vector<std::vector<std::string>> result;
  auto next = texts.begin();
  for (const auto& r : routes) {
    result.emplace_back(next, next + std::ssize(r.steps));
    next += std::ssize(r.steps);
  }
  return result;
}

/// Collective: ends the command if a distance exceeds its type, whether or not answers are checked.
template <class Weight>
void refuse_overflow(session& job, const loaded_graph& input, const distributed_graph<weighted_arc<Weight>>& graph,
                     const answer<Weight>& found) {
  const auto edge = find_overflow(job.ranks(), graph, found);
  if (!edge) return;
  const auto labels = input.names.texts(
      job.ranks(), job.ranks().rank() == 0 ? std::vector<vertex>{edge->source, edge->target} : std::vector<vertex>());
  job.on_first([&] {
    throw error(
        "graph", no_rank,
        fmt::format("the distance of {} exceeds the limit of {}: the edge from {}, which is at distance {}, has "
                    "weight {}",
                    labels[1], name_of(input.weights), labels[0], edge->distance, edge->length),
        input.weights == weight_type::float64 ? "scale the weights" : "use --weight-type double");
  });
}
/// Levels do not: there are more of them than vertices.
void refuse_overflow(session&, const loaded_graph&, const distributed_graph<vertex>&, const answer<level>&) {}

/// What a check of the answer has found.
std::string proof_text(const loaded_graph& input) {
  const std::string text = "distances and paths are right, by Graph500's rules";
  const bool rounded = !input.lengths.empty() && input.weights != weight_type::int64;
  return rounded ? fmt::format("{}, as sums in {}", text, name_of(input.weights)) : text;
}

template <class Search>
int search_and_report(session& job, const loaded_graph& input,
                      const distributed_graph<typename words<Search>::arc_type>& graph, Search& search) {
  constexpr bool is_level = std::same_as<typename words<Search>::distance, level>;
  world& w = job.ranks();
  std::optional<vertex> named = named_root(job, input, graph);
  const vertex root = named ? *named : far_reaching_root(w, graph, search);
  const answer<typename words<Search>::distance>* found = nullptr;
  const auto runs = job.repeat(
      [&](const observer& watch) {
        found = &search.run(root, watch);
        return found->spent;
      },
      words<Search>::round, input.noun);
  refuse_overflow(job, input, graph, *found);
  if (!job.wanted().output.empty()) {
    std::vector<large_array<vertex>> parents;
    for (const auto& part : found->parts) parents.push_back(part.parent);
    parents = numbers_at(w, graph, parents);
    write_output(job, input, graph, columns::value_and_other, [&](std::size_t i, vertex row) {
      const vertex parent = parents[i][row];
      return parent == no_vertex ? std::nullopt
                                 : std::optional(vertex_line{fmt::format("{}", found->parts[i].distance[row]), parent});
    });
  }
  const auto summary = summarise(w, graph, *found, job.wanted().top);
  const auto paths = labels_of(w, input, summary.farthest);
  const std::string root_label = label_at(w, input, graph, root);

  report result(fmt::format("{} from {} over {}", words<Search>::headline, root_label, input.title));
  result.add("kernel", job.wanted().kernel);
  result.add("root", root_label);
  job.add_job(result);
  input.add_to(result);
  result.add("reached", summary.reached, "reached",
             fmt::format("{} ({:.1f} %)", grouped(summary.reached),
                         100 * static_cast<double>(summary.reached) / static_cast<double>(graph.vertices())));
  result.add(plural(words<Search>::round), found->rounds, plural(words<Search>::round), grouped(found->rounds));
  result.add_cost(runs.median, runs.count, job.simulated());
  // An edge that can be traversed both ways was traversed from both ends.
  const std::uint64_t traversed = summary.arcs_traversed / (input.undirected ? 2 : 1);
  const double rate =
      runs.median.ns == 0 ? 0 : static_cast<double>(traversed) * 1e9 / static_cast<double>(runs.median.ns);
  result.add("edges_traversed", traversed);
  result.add("edges_per_second", rate, "edges/s", rate_text(rate));
  job.verify([&] { return find_mistake(w, graph, root, *found); }, result, proof_text(input));

  report::json bins = report::json::array();
  for (const bin& b : summary.histogram) bins.push_back({{"from", b.from}, {"vertices", b.vertices}});
  result.add("histogram", bins);
  result.add_text(histogram_text<typename words<Search>::distance>(summary.histogram, words<Search>::bin, input));
  report::json farthest = report::json::array();
  std::string text = fmt::format("  farthest {}, with a shortest path to each\n", plural(input.noun));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto distance = summary.farthest[i].distance;
    farthest.push_back({{"label", paths[i].back()}, {"distance", distance}, {"path", paths[i]}});
    text += fmt::format("  {:>9}  {}\n             {}\n", distance_text(distance, is_level ? "" : input.unit),
                        paths[i].back(), route_text(paths[i]));
  }
  result.add("farthest", farthest);
  if (!paths.empty()) result.add_text(text);
  job.on_first([&] { job.publish(result); });
  return 0;
}

build_options store_of(const session& job, const loaded_graph& input) {
  return {.kind = job.wanted().owners, .undirected = input.undirected};
}

}  // namespace

int run_bfs(session& job) {
  const loaded_graph input = load(job);
  const auto graph = build<vertex>(job, input, store_of(job, input));
  breadth_first_search search(job.ranks(), graph, {.from_below = input.undirected && !job.wanted().top_down});
  return search_and_report(job, input, graph, search);
}

int run_sssp(session& job) {
  const loaded_graph input = load(job);
  return with_weight_type(input.weights, [&]<class Weight>() {
    const auto graph = build<weighted_arc<Weight>>(job, input, store_of(job, input));
    delta_stepping search(job.ranks(), graph, {.delta = job.wanted().delta, .from_below = !job.wanted().top_down});
    return search_and_report(job, input, graph, search);
  });
}

}  // namespace amity::apps::graph
