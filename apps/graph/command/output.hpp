#pragma once

/// Writes what a kernel has found about each vertex into the file that the user names.

#include <functional>
#include <string>
#include <vector>

#include "apps/graph/command/loaded_graph.hpp"
#include "apps/graph/command/session.hpp"
#include "apps/graph/input/write_values.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// Collective: the numbers of vertices that are known by their places, one for each row of this rank's parts;
/// `no_vertex` stays that.
template <class Arc>
std::vector<large_array<vertex>> numbers_at(world& w, const distributed_graph<Arc>& graph,
                                            const std::vector<large_array<vertex>>& places) {
  struct question {
    vertex target;  // both are places
    vertex asker;
  };
  struct reply {
    vertex target;
    vertex number;
  };
  const auto index = [](const auto& who) { return static_cast<std::size_t>(who.thread_index()); };
  std::vector<large_array<vertex>> numbers;
  for (const auto& part : graph.parts) numbers.emplace_back(part.size(), no_vertex);
  auto answer = w.message<reply>(
      [&](const reply& r, auto& self) { numbers[index(self)][r.target - graph.parts[index(self)].first] = r.number; },
      parallel{thread_of_target{graph.where}}, coalesce{});
  auto ask = w.message<question>(
      [&](const question& q, auto& self) {
        const auto& part = graph.parts[index(self)];
        answer.on(self).send(graph.where.rank(q.asker), {q.asker, part.vertex_of[q.target - part.first]});
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  w.epoch([&](thread& t) {
    const auto& wanted = places[index(t)];
    for (vertex row = 0; row < wanted.size(); ++row) {
      if (wanted[row] != no_vertex)
        ask.on(t).send(graph.where.rank(wanted[row]), {wanted[row], graph.of(t).first + row});
    }
  });
  return numbers;
}

/// Collective: a line "label value" for each vertex, or "label value parent" where there are parents, which are places.
/// `value(part, row)` is empty for vertices that get no line. Nothing where the user wants no file.
template <class Arc>
void write_output(session& job, const loaded_graph& input, const distributed_graph<Arc>& graph,
                  const std::vector<large_array<vertex>>& parents,
                  const std::function<std::string(std::size_t part, vertex row)>& value) {
  if (job.wanted().output.empty()) return;
  const auto of_parents = parents.empty() ? parents : numbers_at(job.ranks(), graph, parents);
  job.watcher().begin("writing " + job.wanted().output, 0, false, input.noun);
  const auto say_all = [&](const value_taker& say) {
    for (std::size_t i = 0; i < graph.parts.size(); ++i) {
      for (vertex row = 0; row < graph.parts[i].size(); ++row) {
        const std::string text = value(i, row);
        if (!text.empty())
          say(graph.parts[i].vertex_of[row], text, of_parents.empty() ? no_vertex : of_parents[i][row]);
      }
    }
  };
  job.explained([&] {
    write_values(job.ranks(), job.wanted().output, input.names, {.with_parents = !parents.empty(), .mine = say_all});
  });
  job.watcher().finish("done");
}

}  // namespace amity::apps::graph
