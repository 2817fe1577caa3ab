#pragma once

/// The whole graph, as rank 0 has it: read from where the user says, with a root to start from.

#include <cstdint>
#include <string>

#include "apps/graph/command/options.hpp"
#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/store/csr.hpp"

namespace amity::apps::graph {

struct whole_graph {
  edge_list about;          ///< with its edges, which `rows` has too
  std::uint64_t edges = 0;  ///< as the input has them
  csr<arc> rows;            ///< targets are vertices
  vertex root = 0;
  std::string lengths;  ///< where they come from, for a person; empty if the search does not use them
};

/// Reads, chooses lengths, and finds the root. Throws `amity::error` for whatever the user can mend.
whole_graph load(const options& wanted, progress& watcher);

/// The graph that stands in for the packages where there is no apt: data/README.md tells what it is. Looks for the
/// data folder beside the installed program, then in the source tree.
edge_list read_stand_in(bool with_lengths, progress& watcher);

}  // namespace amity::apps::graph
