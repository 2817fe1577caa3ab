#pragma once

/// Writes what a kernel has found about each vertex into the file that the user names.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/graph/command/loaded_graph.hpp"
#include "apps/graph/command/session.hpp"
#include "apps/graph/input/write_values.hpp"
#include "apps/graph/output/destination.hpp"
#include "apps/graph/store/distributed_graph.hpp"
#include "apps/graph/store/look_up.hpp"

namespace amity::apps::graph {

/// Collective: the numbers of vertices that are known by their places, one for each row of this rank's parts;
/// `no_vertex` stays that.
template <class Arc>
std::vector<large_array<vertex>> numbers_at(world& w, const distributed_graph<Arc>& graph,
                                            const std::vector<large_array<vertex>>& places) {
  return look_up(w, graph, places, [&](std::size_t part, vertex row) { return graph.parts[part].vertex_of[row]; });
}

/// What a line says of a vertex behind its label; as `columns` says, one of the two or both.
struct vertex_line {
  std::string value;
  vertex other = no_vertex;  ///< number of another vertex
};

/// Collective: a line for each vertex; none where `found(part, row)` has nothing. No file where the user wants none.
template <class Arc>
void write_output(session& job, const loaded_graph& input, const distributed_graph<Arc>& graph, columns shown,
                  const std::function<std::optional<vertex_line>(std::size_t part, vertex row)>& found) {
  if (job.wanted().output.empty()) return;
  const std::string& name = job.wanted().output;
  job.watcher().begin("writing " + (name == standard_output ? "standard output" : name), 0, false, input.noun);
  const auto say_all = [&](const value_taker& say) {
    for (std::size_t i = 0; i < graph.parts.size(); ++i) {
      for (vertex row = 0; row < graph.parts[i].size(); ++row) {
        if (const auto line = found(i, row)) say(graph.parts[i].vertex_of[row], line->value, line->other);
      }
    }
  };
  job.explained([&] { write_values(job.ranks(), name, input.names, {.shown = shown, .mine = say_all}); });
  job.watcher().finish("done");
}

}  // namespace amity::apps::graph
