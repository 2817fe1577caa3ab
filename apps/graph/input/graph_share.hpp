#pragma once

/// A graph as all ranks have read it together: each has some of the edges, and all know the rest.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/distributed_names.hpp"
#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/store/build.hpp"

namespace amity::apps::graph {

/// Consecutive edges of the input.
struct edge_run {
  std::uint64_t first;  ///< how many edges the input has in front
  std::uint64_t begin;  ///< where they begin among those of this rank; they end where the next run begins
};

/// All but `mine`, `runs` and what `names` hold is the same on all ranks, and for any number of ranks.
struct graph_share {
  std::string title;            ///< what the graph is, for a person: "graph.mtx", "packages that this machine knows"
  std::string noun = "vertex";  ///< what a vertex is: "package"
  std::string unit;             ///< of a length: "MB"; empty where it has none
  vertex vertices = 0;
  std::uint64_t edges = 0;      ///< of all ranks
  std::vector<edge_ends> mine;  ///< ends are vertices of the whole graph
  /// One for each of `mine`; none if all are 1. Until `set_lengths` ranks may have read different types.
  weight_list weights;
  weight_type type = weight_type::int64;  ///< of the weights, once `set_lengths` has decided it
  std::vector<edge_run> runs;             ///< where `mine` lie in the input, in that order
  bool has_lengths = false;               ///< the input gave lengths
  bool undirected = false;                ///< each edge may be traversed in both directions
  std::string default_root;  ///< label to start from where the user names none; empty: nothing sensible is known
  distributed_names names;
};

/// Collective: reads a file, each rank its turns. Rank 0 alone reads what is not a regular file and can be read only
/// once, such as a pipe, and standard input, which is named "-".
/// Rank 0's watcher shows how far it is. Where anything is wrong, all ranks throw the same `amity::error`.
graph_share read_graph(world& w, const std::filesystem::path& file, const std::string& format_name,
                       const read_options& options, progress& watcher);

/// Collective: the packages of a folder of lists (packages.hpp), which rank 0 reads.
graph_share read_package_graph(world& w, const std::filesystem::path& folder, bool reverse, progress& watcher);

/// Collective: one graph of what the first `readers` ranks have read. `noun`, `unit`, `title` and `default_root` are
/// those of rank 0.
graph_share assemble(world& w, edge_list local, rank_t readers);

/// This thread's share of the edges of its rank, which must live as long. `Weight` is `graph.type`, or float for edges
/// whose weights are not used.
template <weight Weight>
weighted_edge_source<Weight> edges_of(const graph_share& graph);

/// Collective: whether each rank can read this from its beginning, as no pipe, and no standard input that is a file on
/// rank 0 alone. What is missing or forbidden may as well be found by all.
bool all_can_read(world& w, const std::filesystem::path& file);

}  // namespace amity::apps::graph
