#include "apps/graph/input/graph_share.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "apps/graph/collect.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/input/packages.hpp"
#include "apps/graph/input/together.hpp"

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

bool any(world& w, bool mine) { return w.max(std::uint64_t{mine}) > 0; }

/// Of the blocks that gave this rank edges.
std::vector<block_count> edge_counts(const edge_list& local) {
  std::vector<block_count> counts;
  for (std::size_t i = 0; i < local.blocks.size(); ++i) {
    const std::uint64_t end = i + 1 < local.blocks.size() ? local.blocks[i + 1].edges : local.edges.size();
    if (end > local.blocks[i].edges) counts.push_back({local.blocks[i].block, end - local.blocks[i].edges});
  }
  return counts;
}

/// Collective: the names, and the edges in their numbers.
void number_vertices(world& w, edge_list& local, rank_t readers, graph_share& graph) {
  if (any(w, local.names.are_numbered())) {
    graph.vertices = static_cast<vertex>(w.max(std::uint64_t{local.names.size()}));
    graph.names = distributed_names::numbered(graph.vertices, w.max(local.names.first_number()));
  } else if (w.size() == 1) {
    graph.vertices = local.names.size();
    graph.names = {std::move(local.names), {{0, graph.vertices, 0}}};
  } else {
    std::vector<vertex> number;
    graph.names = number_names(w, local, readers, number);
    graph.vertices = graph.names.size();
    for (edge_ends& e : local.edges) e = {number[e.source], number[e.target]};
  }
}

}  // namespace

graph_share assemble(world& w, edge_list local, rank_t readers) {
  if (local.blocks.empty()) local.blocks.push_back({0, 0, 0});
  graph_share graph;
  for (std::string edge_list::*text : {&edge_list::title, &edge_list::noun, &edge_list::unit, &edge_list::default_root})
    broadcast(w, local.*text);
  graph.title = local.title;
  graph.noun = local.noun;
  graph.unit = local.unit;
  graph.default_root = local.default_root;
  graph.has_lengths = any(w, local.has_lengths);
  graph.undirected = any(w, local.undirected);

  const auto counts = edge_counts(local);
  const auto edges_in_front = counts_in_front(w, counts);
  graph.edges = edges_in_front.back();
  std::uint64_t begin = 0;
  for (const block_count& each : counts) {
    graph.runs.push_back({edges_in_front[each.block], begin});
    begin += each.count;
  }

  number_vertices(w, local, readers, graph);
  const totals all{graph.vertices, graph.edges, w.sum(local.listed), w.sum(local.unpaired)};
  together(w, [&] {
    if (local.check) local.check(all);
    if (graph.vertices == 0) fail(graph.title, "there are no vertices in it", "name a file with a graph");
  });
  graph.mine = std::move(local.edges);
  graph.weights = std::move(local.weights);
  return graph;
}

template <weight Weight>
weighted_edge_source<Weight> edges_of(const graph_share& graph) {
  return [&graph](const thread& t, const weighted_edge_taker<Weight>& take) {
    constexpr std::size_t some = 4096;
    std::vector<weighted_edge<Weight>> out;
    const auto [first, last] = t.share(graph.mine.size());
    for (std::size_t i = first; i < last;) {
      out.clear();
      for (const std::size_t end = std::min<std::size_t>(last, i + some); i < end; ++i) {
        const auto [source, target] = graph.mine[i];
        out.push_back({source, target, graph.weights.empty() ? Weight{1} : graph.weights.at<Weight>(i)});
      }
      take(out);
    }
  };
}

template weighted_edge_source<float> edges_of(const graph_share&);
template weighted_edge_source<double> edges_of(const graph_share&);
template weighted_edge_source<std::int64_t> edges_of(const graph_share&);

bool all_can_read(world& w, const fs::path& file) {
  if (w.size() == 1) return true;
  if (file == standard_input) return false;
  struct stat about {};
  const bool there = ::stat(file.c_str(), &about) == 0;
  if (any(w, there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))) return false;
  // The hosts of a job may number their file systems as they like, but each gives a file one size.
  const auto same = [&](std::uint64_t value) { return w.min(value) == w.max(value); };
  return same(there) && same(there && S_ISREG(about.st_mode) ? static_cast<std::uint64_t>(about.st_size) : 0);
}

graph_share read_graph(world& w, const fs::path& file, const std::string& format_name, const read_options& options,
                       progress& watcher) {
  const rank_t readers = all_can_read(w, file) ? w.size() : 1;
  edge_list local;
  together(w, [&] {
    if (w.rank() >= readers) return;
    const turns sharing{.rank = w.rank(), .ranks = readers, .block_bytes = options.block_bytes};
    local = read_turns(file, format_name, options, sharing, watcher);
  });
  graph_share graph = assemble(w, std::move(local), readers);
  if (w.rank() == 0) {
    watcher.finish(fmt::format("{}, {}", counted(graph.vertices, graph.noun), counted(graph.edges, "edge")));
  }
  return graph;
}

graph_share read_package_graph(world& w, const fs::path& folder, bool reverse, progress& watcher) {
  edge_list local;
  together(w, [&] {
    if (w.rank() == 0) local = read_packages(folder, reverse, watcher);
  });
  return assemble(w, std::move(local), 1);
}

}  // namespace amity::apps::graph
