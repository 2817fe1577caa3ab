#include "apps/graph/command/loaded_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "amity/base/log.hpp"
#include "amity/base/program_file.hpp"
#include "apps/graph/command/kernels.hpp"
#include "apps/graph/generate/erdos_renyi.hpp"
#include "apps/graph/generate/kronecker.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/graph_share.hpp"
#include "apps/graph/input/lengths.hpp"
#include "apps/graph/input/packages.hpp"

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

/// Where the graph may be that is used if there is no apt (data/README.md describes it): in the data folder next to the
/// installed program, or in the source tree.
std::array<fs::path, 2> stand_in_files() {
  return {program_file().parent_path().parent_path() / AMITY_GRAPH_DATA_INSTALLED, fs::path(AMITY_GRAPH_DATA_SOURCE)};
}

/// Whether a choice of lengths is the name of a file; see `set_lengths`.
bool names_lengths_file(const std::string& choice) {
  return choice != "input" && choice != "unit" && choice != "uniform" && choice != "integer";
}

graph_share read_stand_in(session& job, bool with_lengths) {
  const auto candidates = stand_in_files();
  const auto folder = std::ranges::find_if(candidates, [](const fs::path& p) { return fs::exists(p); });
  if (folder == candidates.end()) {
    fail(candidates[0].string(), "there is no such file", "name a file with a graph, or install amity again");
  }
  graph_share graph =
      read_graph(job.ranks(), *folder, "edges", {.with_lengths = with_lengths, .rules = job.rules()}, job.watcher());
  graph.title = "headers of Boost.Beast, with those that they include";
  graph.noun = "header";
  graph.unit = "kB";
  graph.default_root = "boost/beast.hpp";
  return graph;
}

/// The graph of a file, or of the packages.
graph_share read_input(session& job) {
  const options& wanted = job.wanted();
  world& w = job.ranks();
  const bool with_lengths = job.uses_lengths() && wanted.lengths == "input";
  if (!wanted.file.empty()) {
    return read_graph(w, wanted.file, wanted.format,
                      {.with_lengths = with_lengths, .rules = job.rules(), .vertices = wanted.vertices}, job.watcher());
  }
  // Packages turn their own edges round: lengths are those of what an edge leads to.
  if (wanted.packages || !find_package_lists(wanted.lists).empty()) {
    return read_package_graph(w, wanted.lists, wanted.reverse, job.watcher());
  }
  if (w.rank() == 0) {
    log_warning(no_rank, fmt::format("there are no package lists in {} (apt-get update fetches them); a graph that "
                                     "comes with amity stands in for the packages",
                                     wanted.lists));
  }
  return read_stand_in(job, with_lengths);
}

loaded_graph from_input(session& job) {
  const options& wanted = job.wanted();
  graph_share read = read_input(job);
  loaded_graph graph;
  if (job.uses_lengths()) {
    graph.lengths = set_lengths(job.ranks(), read, wanted.lengths, wanted.seed, job.watcher(), job.rules());
    graph.weights = read.type;
  }
  if (wanted.reverse && read.noun != "package") {
    for (edge_ends& e : read.mine) std::swap(e.source, e.target);
    read.title += ", edges reversed";
    read.default_root.clear();
  }
  graph.title = std::move(read.title);
  graph.noun = std::move(read.noun);
  graph.unit = std::move(read.unit);
  graph.vertices = read.vertices;
  graph.edges = read.edges;
  graph.undirected = read.undirected || wanted.undirected;
  graph.default_root = std::move(read.default_root);
  graph.names = std::move(read.names);
  // Sources are copied; the edges are not.
  const auto edges = std::make_shared<const graph_share>(std::move(read));
  with_weight_type(graph.weights, [&]<class Weight>() {
    graph.edges_here = weighted_edge_source<Weight>(
        [edges, source = edges_of<Weight>(*edges)](const thread& t, const weighted_edge_taker<Weight>& take) {
          source(t, take);
        });
  });
  return graph;
}

/// The edges of a generator, turned round if the user wants that.
edge_source made_edges(const generator auto& made, world& w, bool reversed) {
  edge_source source = source_of(w, made);
  if (!reversed) return source;
  return [source = std::move(source)](const thread& t, const edge_taker& take) {
    std::vector<edge> changed;
    source(t, [&](std::span<const edge> some) {
      changed.assign(some.begin(), some.end());
      for (edge& e : changed) std::swap(e.source, e.target);
      take(changed);
    });
  };
}

loaded_graph from_generator(const session& job, const generator auto& made, world& w) {
  const generated about = made.about();
  loaded_graph graph;
  graph.title = about.title;
  graph.vertices = about.vertices;
  graph.edges = about.edges;
  graph.undirected = about.undirected || job.wanted().undirected;
  graph.names = distributed_names::numbered(about.vertices, 0);
  const bool reversed = job.wanted().reverse && !graph.undirected;
  if (reversed) graph.title += ", edges reversed";
  const edge_source edges = made_edges(made, w, reversed);
  if (!job.uses_lengths()) {
    graph.edges_here = edges;
    return graph;
  }
  // What a generator makes is uniform.
  const std::string choice = job.wanted().lengths == "input" ? "uniform" : job.wanted().lengths;
  graph.weights = type_of_choice(choice, job.rules());
  graph.lengths = described_lengths(choice, job.wanted().seed);
  with_weight_type(graph.weights, [&]<class Weight>() {
    graph.edges_here =
        with_weights<Weight>(edges, [choice](const edge& e) { return length_of<Weight>(choice, e.length); });
  });
  return graph;
}

loaded_graph load_anything(session& job) {
  const options& wanted = job.wanted();
  if (wanted.kronecker) {
    return from_generator(
        job, kronecker({.scale = *wanted.kronecker, .edge_factor = wanted.edge_factor, .seed = wanted.seed}),
        job.ranks());
  }
  if (wanted.erdos_renyi) {
    const auto vertices = vertex{1} << *wanted.erdos_renyi;
    return from_generator(
        job,
        erdos_renyi({.vertices = vertices, .edges = std::uint64_t{vertices} * wanted.edge_factor, .seed = wanted.seed}),
        job.ranks());
  }
  return from_input(job);
}

}  // namespace

void loaded_graph::add_to(report& into) const {
  into.add("graph", title);
  into.add("vertices", vertices, "vertices", grouped(vertices));
  into.add("undirected", undirected);
  into.add("edges", edges, "edges", grouped(edges) + (undirected ? ", both ways" : ""));
  if (!lengths.empty()) {
    into.add("weights", lengths, "weights",
             fmt::format("{}{}{}, {}", lengths, unit.empty() ? "" : ", in ", unit, name_of(weights)));
    into.add("weight_type", name_of(weights));
  }
  if (!unit.empty()) into.add("unit", unit);
}

std::vector<fs::path> files_to_read(const options& wanted, bool uses_lengths) {
  std::vector<fs::path> files;
  if (uses_lengths && names_lengths_file(wanted.lengths)) files.emplace_back(wanted.lengths);
  if (!wanted.file.empty()) {
    files.emplace_back(wanted.file);
    for (const std::string_view part : wordnet_files) files.push_back(fs::path(wanted.file) / part);
  } else if (!wanted.kronecker && !wanted.erdos_renyi) {
    std::ranges::move(find_package_lists(wanted.lists), std::back_inserter(files));
    std::ranges::move(stand_in_files(), std::back_inserter(files));
  }
  return files;
}

loaded_graph load(session& job) {
  loaded_graph result;
  job.explained([&] { result = load_anything(job); });
  return result;
}

}  // namespace amity::apps::graph
