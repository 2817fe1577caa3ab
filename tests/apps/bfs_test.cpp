// Breadth-first search gives the sequential answer, from above and from below, on every shape of job.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "apps/graph/kernels/bfs.hpp"
#include "apps/graph/store/build.hpp"
#include "tests/apps/gather.hpp"
#include "tests/apps/graph_jobs.hpp"
#include "tests/apps/sequential.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

/// Every distance is right, and every parent is a neighbour one level above.
void expect_right(const csr<arc>& plain, vertex root, const paths<level>& found) {
  const auto levels = testing::sequential_bfs(plain, root).distance;
  for (vertex v = 0; v < levels.size(); ++v) {
    ASSERT_EQ(found.distance[v], levels[v]) << "vertex " << v;
    const vertex parent = found.parent[v];
    if (levels[v] == unreached<level> || v == root) {
      ASSERT_EQ(parent, v == root ? root : no_vertex);
      continue;
    }
    ASSERT_LT(parent, levels.size());
    ASSERT_EQ(levels[parent] + 1, levels[v]);
    ASSERT_TRUE(std::ranges::any_of(plain[parent], [&](const arc& a) { return a.target == v; })) << "vertex " << v;
  }
}

void search(world& w, const random_graph& edges, bool undirected, bool from_below) {
  const auto plain = testing::whole_graph(edges.vertices, edges.all(), undirected);
  const auto mine = edges.share(w.rank(), w.size());
  const auto graph = build_graph<vertex>(w, edges.vertices, source_of(mine), {.undirected = undirected});
  breadth_first_search searches(w, graph, {.from_below = from_below});
  for (const vertex root : {vertex{0}, edges.vertices / 2}) {
    std::vector<std::uint64_t> reached;
    const auto& found = searches.run(find_place(w, graph, root),
                                     [&](std::uint32_t, std::uint64_t so_far) { reached.push_back(so_far); });
    EXPECT_EQ(found.rounds, reached.size());
    const paths<level> all = testing::gather(w, graph, found);
    if (w.rank() == 0) expect_right(plain, root, all);
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
