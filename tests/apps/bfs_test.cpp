// Breadth-first search gives the sequential answer, from above and from below, on every shape of job.

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "apps/graph/kernels/bfs.hpp"
#include "apps/graph/store/build.hpp"
#include "tests/apps/graph_jobs.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

/// The graph as a textbook has it.
struct plain_graph {
  std::vector<std::set<vertex>> targets;
  plain_graph(const random_graph& edges, bool undirected) : targets(edges.vertices) {
    for (const edge& e : edges.all()) {
      targets[e.source].insert(e.target);
      if (undirected) targets[e.target].insert(e.source);
    }
  }
  std::vector<level> levels_from(vertex root) const {
    std::vector<level> levels(targets.size(), unreached<level>);
    std::deque<vertex> queue{root};
    levels[root] = 0;
    for (; !queue.empty(); queue.pop_front()) {
      for (const vertex target : targets[queue.front()]) {
        if (levels[target] != unreached<level>) continue;
        levels[target] = levels[queue.front()] + 1;
        queue.push_back(target);
      }
    }
    return levels;
  }
};

struct question {
  vertex target;  // a place
  vertex child;
};

/// Every distance is right, and every parent is a neighbour one level above. Collective.
void expect_right(world& w, const plain_graph& plain, const distributed_graph<vertex>& graph, vertex root,
                  const answer<level>& found) {
  const auto levels = plain.levels_from(root);
  auto ask = w.message<question>(
      [&](const question& q, auto& self) {
        const auto& part = graph.parts[static_cast<std::size_t>(self.thread_index())];
        const vertex parent = part.vertex_of.at(q.target - part.first);
        EXPECT_TRUE(q.child == root ? parent == root : plain.targets[parent].contains(q.child));
        EXPECT_EQ(levels[parent] + (q.child == root ? 0 : 1), levels[q.child]);
      },
      parallel{thread_of_target{graph.where}});
  w.epoch([&](thread& t) {
    const auto& part = graph.of(t);
    const auto& mine = found.parts[static_cast<std::size_t>(t.thread_index())];
    for (vertex row = 0; row < part.size(); ++row) {
      EXPECT_EQ(mine.distance[row], levels[part.vertex_of[row]]) << "vertex " << part.vertex_of[row];
      if (mine.parent[row] == no_vertex) {
        EXPECT_EQ(levels[part.vertex_of[row]], unreached<level>);
      } else {
        ask.on(t).send(graph.where.rank(mine.parent[row]), {mine.parent[row], part.vertex_of[row]});
      }
    }
  });
}

void search(world& w, const random_graph& edges, bool undirected, bool from_below) {
  const plain_graph plain(edges, undirected);
  const auto mine = edges.share(w.rank(), w.size());
  const auto graph = build_graph<vertex>(w, edges.vertices, source_of(mine), {.undirected = undirected});
  breadth_first_search searches(w, graph, {.from_below = from_below});
  for (const vertex root : {vertex{0}, edges.vertices / 2}) {
    std::vector<std::uint64_t> reached;
    const auto& found = searches.run(find_place(w, graph, root),
                                     [&](std::uint32_t, std::uint64_t so_far) { reached.push_back(so_far); });
    EXPECT_EQ(found.rounds, reached.size());
    expect_right(w, plain, graph, root, found);
  }
}

class breadth_first : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, breadth_first, ::testing::ValuesIn(testing::job_shapes_and_many_ranks()),
                         testing::shape_name);

TEST_P(breadth_first, from_above) {
  run([](world& w) {
    for (const bool undirected : {false, true}) {
      search(w, {.vertices = 700, .edges = 1500, .seed = 1}, undirected, false);
      search(w, {.vertices = 700, .edges = 3000, .seed = 2, .crowded = true}, undirected, false);
      search(w, {.vertices = 1, .edges = 1, .seed = 3}, undirected, false);
    }
  });
}

TEST_P(breadth_first, from_below) {
  run([](world& w) {
    search(w, {.vertices = 700, .edges = 2000, .seed = 4}, true, true);
    search(w, {.vertices = 3000, .edges = 30000, .seed = 5, .crowded = true}, true, true);
    search(w, {.vertices = 3, .edges = 2, .seed = 6}, true, true);
  });
}

std::uint64_t messages_of_search(bool from_below) {
  std::uint64_t messages = 0;
  amity::testing::run_job(amity::testing::shape("sim", 4, 1), [&](world& w) {
    const random_graph edges{.vertices = 4000, .edges = 80000, .seed = 5};
    const auto mine = edges.share(w.rank(), w.size());
    const auto graph = build_graph<vertex>(w, edges.vertices, source_of(mine), {.undirected = true});
    breadth_first_search searches(w, graph, {.from_below = from_below});
    const auto& found = searches.run(find_place(w, graph, 0), [](std::uint32_t, std::uint64_t) {});
    if (w.rank() == 0) messages = found.spent.messages;
  });
  return messages;
}

TEST(breadth_first_messages, are_at_most_one_for_each_part_and_vertex_of_another) {
  const std::uint64_t messages = messages_of_search(false);
  EXPECT_GT(messages, 0u);
  EXPECT_LE(messages, 3u * 4000u);
}

TEST(breadth_first_messages, are_far_fewer_from_below) {
  EXPECT_LT(messages_of_search(true), messages_of_search(false) / 4);
}

}  // namespace
}  // namespace amity::apps::graph
