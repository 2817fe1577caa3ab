#pragma once

/// What owners of vertices know of them, asked for by others.

#include <cstddef>
#include <functional>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/store/distributed_graph.hpp"
#include "apps/graph/store/places.hpp"

namespace amity::apps::graph {

/// Collective: for each row of this rank's parts `answer(part, row)` of the place that the row names, as that place's
/// owner has it; `no_vertex` stays that.
template <class Arc>
std::vector<large_array<vertex>> look_up(world& w, const distributed_graph<Arc>& graph,
                                         const std::vector<large_array<vertex>>& places,
                                         const std::function<vertex(std::size_t part, vertex row)>& answer) {
  struct question {
    vertex target;  // both are places
    vertex asker;
  };
  struct reply {
    vertex target;
    vertex answer;
  };
  const auto index = [](const auto& who) { return static_cast<std::size_t>(who.thread_index()); };
  std::vector<large_array<vertex>> answers;
  for (const auto& part : graph.parts) answers.emplace_back(part.size(), no_vertex);
  auto tell = w.message<reply>(
      [&](const reply& r, auto& self) { answers[index(self)][r.target - graph.parts[index(self)].first] = r.answer; },
      parallel{thread_of_target{graph.where}}, coalesce{});
  auto ask = w.message<question>(
      [&](const question& q, auto& self) {
        const vertex row = q.target - graph.parts[index(self)].first;
        tell.on(self).send(graph.where.rank(q.asker), {q.asker, answer(index(self), row)});
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  w.epoch([&](thread& t) {
    const auto& wanted = places[index(t)];
    for (vertex row = 0; row < wanted.size(); ++row) {
      if (wanted[row] != no_vertex)
        ask.on(t).send(graph.where.rank(wanted[row]), {wanted[row], graph.of(t).first + row});
    }
  });
  return answers;
}

}  // namespace amity::apps::graph
