#include "apps/graph/command/whole_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <utility>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/lengths.hpp"
#include "apps/graph/input/packages.hpp"
#include "apps/graph/verify/sequential.hpp"

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

void reverse(edge_list& graph) {
  for (edge& e : graph.edges) std::swap(e.source, e.target);
  graph.title += ", edges reversed";
  graph.default_root.clear();
}

edge_list read_input(const options& wanted, progress& watcher) {
  const bool has_lists = !find_package_lists(wanted.lists).empty();
  if (wanted.file.empty() && (wanted.packages || has_lists)) {
    return read_packages(wanted.lists, wanted.reverse, watcher);
  }
  edge_list graph;
  const bool with_lengths = wanted.search == options::algorithm::sssp && wanted.lengths == "input";
  if (wanted.file.empty()) {
    log_warning(no_rank, fmt::format("there are no package lists in {} (apt-get update fetches them); a graph that "
                                     "comes with amity stands in for the packages",
                                     wanted.lists));
    graph = read_stand_in(with_lengths, watcher);
  } else {
    graph = read_file(wanted.file, wanted.format, {with_lengths}, watcher);
  }
  if (wanted.reverse) reverse(graph);
  return graph;
}

vertex named_root(const edge_list& graph, const std::string& label) {
  if (const auto root = graph.names.find(label)) return *root;
  std::vector<std::string> near;
  for (const auto& each : graph.names.nearest(label, 3)) near.push_back(graph.names.text(each.meant));
  throw error("--root", no_rank, fmt::format("there is no {} '{}'", graph.noun, label),
              fmt::format("did you mean {}?", fmt::join(near, ", ")));
}

/// Of the vertices with most edges, the one that reaches most. Looks at a bounded number of edges, then takes the best
/// so far.
vertex far_reaching_root(const csr<arc>& rows) {
  constexpr std::size_t candidates_max = 8;
  constexpr std::uint64_t edges_max = 4'000'000;
  std::vector<vertex> order(rows.rows());
  std::iota(order.begin(), order.end(), vertex{0});
  const std::size_t candidates = std::min(candidates_max, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(candidates), order.end(),
                    [&](vertex a, vertex b) {
                      return std::pair(rows.degree(b), a) < std::pair(rows.degree(a), b);  // first of equals
                    });
  vertex best = order[0];
  std::ptrdiff_t best_reach = 0;
  for (std::size_t i = 0; i < candidates && i * rows.arcs().size() < edges_max; ++i) {
    const auto distance = sequential_bfs(rows, order[i]).distance;
    const auto reach = std::ranges::count_if(distance, [](level d) { return d != unreached<level>; });
    if (reach > std::exchange(best_reach, std::max(reach, best_reach))) best = order[i];
  }
  return best;
}

}  // namespace

edge_list read_stand_in(bool with_lengths, progress& watcher) {
  const auto candidates =
      std::to_array({fs::read_symlink("/proc/self/exe").parent_path().parent_path() / AMITY_GRAPH_DATA_INSTALLED,
                     fs::path(AMITY_GRAPH_DATA_SOURCE)});
  const auto folder = std::ranges::find_if(candidates, [](const fs::path& p) { return fs::exists(p); });
  if (folder == candidates.end()) {
    fail(candidates[0].string(), "there is no such file", "name a file with a graph, or install amity again");
  }
  edge_list graph = read_file(*folder, "edges", {with_lengths}, watcher);
  graph.title = "headers of Boost.Beast, with those that they include";
  graph.noun = "header";
  graph.unit = "kB";
  graph.default_root = "boost/beast.hpp";
  return graph;
}

whole_graph load(const options& wanted, progress& watcher) {
  whole_graph graph;
  graph.about = read_input(wanted, watcher);
  edge_list& about = graph.about;
  about.undirected |= wanted.undirected;
  if (wanted.search == options::algorithm::sssp) {
    graph.lengths = set_lengths(about, wanted.lengths, wanted.seed, watcher);
  }
  graph.edges = about.edges.size();
  graph.rows = csr<arc>(about.vertices(), [&](auto visit) {
    for (const edge& e : about.edges) {
      visit(e.source, {e.target, e.length});
      if (about.undirected && e.source != e.target) visit(e.target, {e.source, e.length});
    }
  });
  if (!wanted.root.empty()) {
    graph.root = named_root(about, wanted.root);
  } else {
    graph.root = about.names.find(about.default_root).value_or(no_vertex);
    if (graph.root == no_vertex) graph.root = far_reaching_root(graph.rows);
  }
  return graph;
}

}  // namespace amity::apps::graph
