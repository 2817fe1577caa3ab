#pragma once

/// The graph that the user asks for, from wherever it comes: a file, this machine's packages, or a generator.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/graph/command/session.hpp"
#include "apps/graph/console/report.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/input/distributed_names.hpp"
#include "apps/graph/input/weight_type.hpp"
#include "apps/graph/store/build.hpp"

namespace amity::apps::graph {

struct loaded_graph {
  std::string title;                           ///< what the graph is, for a person
  std::string noun = "vertex";                 ///< what a vertex is: "package"
  std::string unit;                            ///< of a length: "MB"; empty where it has none
  std::string lengths;                         ///< where they come from; empty where the kernel does not use them
  weight_type weights = weight_type::float32;  ///< their type
  vertex vertices = 0;
  std::uint64_t edges = 0;   ///< on all ranks
  bool undirected = false;   ///< each edge may be traversed in both directions
  std::string default_root;  ///< label to start from where the user names none; empty: nothing sensible is known
  distributed_names names;
  /// This rank's share. The weights are floats that have no meaning if the kernel does not use them.
  std::variant<weighted_edge_source<std::int64_t>, weighted_edge_source<double>, weighted_edge_source<float>>
      edges_here;

  /// Adds what a report says of any graph.
  void add_to(report& into) const;
};

/// The files that `load` reads for these options.
std::vector<std::filesystem::path> files_to_read(const options& wanted, bool uses_lengths);

/// Collective. Throws `answered` for whatever the user can mend, which rank 0 has then explained.
loaded_graph load(session& job);

/// Collective: the distributed graph, made while the user sees progress. `Arc` has weights of the type
/// `input.weights`, or none. Throws `answered` if there are more vertices
/// than have numbers.
template <class Arc>
distributed_graph<Arc> build(session& job, const loaded_graph& input, const build_options& how) {
  using source = weighted_edge_source<weight_of<Arc>>;
  job.watcher().begin("building", 0, false);
  std::optional<distributed_graph<Arc>> graph;
  job.explained(
      [&] { graph = build_graph<Arc>(job.ranks(), input.vertices, std::get<source>(input.edges_here), how); });
  const std::uint64_t bytes = job.ranks().sum(graph->bytes());
  job.watcher().finish(counted(graph->arcs, "arc") + ", " + bytes_text(bytes));
  return *std::move(graph);
}

}  // namespace amity::apps::graph
