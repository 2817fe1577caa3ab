// Delta-stepping gives the sequential answer to the last bit, with and without looking from below, for lengths of all
// kinds, on every shape of job.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "apps/graph/kernels/known_distances.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/build.hpp"
#include "tests/apps/gather.hpp"
#include "tests/apps/graph_jobs.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

/// What to search, and how.
struct sample {
  vertex vertices;
  std::vector<edge> edges;
  bool undirected = true;
  sssp_options how = {};
};

sample random_sample(const random_graph& edges, const std::function<float(float)>& length = {}) {
  sample s{.vertices = edges.vertices, .edges = edges.all()};
  for (edge& e : s.edges) {
    if (length) e.length = length(e.length);
  }
  return s;
}

/// The graph as a textbook has it.
struct plain_graph {
  std::vector<std::vector<arc>> arcs;

  explicit plain_graph(const sample& s) : arcs(s.vertices) {
    for (const edge& e : s.edges) {
      arcs[e.source].push_back({e.target, e.length});
      if (s.undirected) arcs[e.target].push_back({e.source, e.length});
    }
  }

  std::vector<weight> dijkstra(vertex root) const {
    std::vector<weight> distances(arcs.size(), unreached<weight>);
    using entry = std::pair<weight, vertex>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    distances[root] = 0;
    open.emplace(0.0f, root);
    while (!open.empty()) {
      const auto [distance, v] = open.top();
      open.pop();
      if (distance > distances[v]) continue;
      for (const arc& a : arcs[v]) {
        if (distance + a.length >= distances[a.target]) continue;
        distances[a.target] = distance + a.length;
        open.emplace(distances[a.target], a.target);
      }
    }
    return distances;
  }
};

/// Distances are right, each is that of the parent and an arc, and the parents lead to the root.
void expect_right(const plain_graph& plain, vertex root, const paths<weight>& found) {
  const auto distances = plain.dijkstra(root);
  for (vertex v = 0; v < distances.size(); ++v) {
    ASSERT_EQ(found.distance[v], distances[v]) << "vertex " << v;
    vertex parent = found.parent[v];
    if (distances[v] == unreached<weight> || v == root) {
      ASSERT_EQ(parent, v == root ? root : no_vertex);
      continue;
    }
    ASSERT_LT(parent, distances.size());
    ASSERT_TRUE(std::ranges::any_of(
        plain.arcs[parent],
        [&](const arc& a) { return a.target == v && distances[parent] + a.length == distances[v]; }))
        << parent << " does not explain the distance of " << v;
    for (std::size_t steps = 0; parent != root; ++steps, parent = found.parent[parent])
      ASSERT_LT(steps, distances.size()) << "the parents of " << v << " go round";
  }
}

/// Collective.
void search(world& w, const sample& s) {
  std::vector<edge> mine;
  for (auto i = static_cast<std::size_t>(w.rank()); i < s.edges.size(); i += static_cast<std::size_t>(w.size()))
    mine.push_back(s.edges[i]);
  const auto graph = build_graph<arc>(w, s.vertices, source_of(mine), {.undirected = s.undirected});
  const plain_graph plain(s);
  delta_stepping searches(w, graph, s.how);
  for (const vertex root : {vertex{0}, s.vertices / 2}) {
    std::vector<std::uint64_t> reached;
    const auto& found = searches.run(find_place(w, graph, root),
                                     [&](std::uint32_t, std::uint64_t so_far) { reached.push_back(so_far); });
    EXPECT_EQ(found.rounds, reached.size());
    const paths<weight> all = testing::gather(w, graph, found);
    if (w.rank() > 0) continue;
    expect_right(plain, root, all);
    EXPECT_EQ(reached.back(), s.vertices - std::ranges::count(all.distance, unreached<weight>));
  }
}

void search_both_ways(world& w, sample s) {
  for (const bool from_below : {false, true}) {
    s.how.from_below = from_below;
    search(w, s);
  }
}

class shortest_paths : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, shortest_paths, ::testing::ValuesIn(testing::job_shapes_and_many_ranks()),
                         testing::shape_name);

TEST_P(shortest_paths, of_random_graphs) {
  run([](world& w) {
    search_both_ways(w, random_sample({.vertices = 500, .edges = 700, .seed = 1}));
    search_both_ways(w, random_sample({.vertices = 500, .edges = 5000, .seed = 2, .crowded = true}));
  });
}

TEST_P(shortest_paths, along_directed_edges) {
  run([](world& w) {
    sample s = random_sample({.vertices = 500, .edges = 2000, .seed = 3, .crowded = true});
    s.undirected = false;
    search(w, s);
  });
}

TEST_P(shortest_paths, with_lengths_of_all_kinds) {
  run([](world& w) {
    const random_graph edges{.vertices = 200, .edges = 1000, .seed = 4, .crowded = true};
    for (const float equal : {0.0f, 1.0f, 1e-45f, 1e38f}) {
      search_both_ways(w, random_sample(edges, [&](float) { return equal; }));
    }
    search_both_ways(w, random_sample(edges, [](float x) { return std::floor(4 * x); }));  // a quarter is 0
    search_both_ways(w, random_sample(edges, [](float x) { return 1e-40f * x; }));
    search_both_ways(w, random_sample(edges, [](float x) { return 1e30f * std::pow(x, 30.0f); }));
  });
}

TEST_P(shortest_paths, with_a_width_of_buckets_that_the_user_wants) {
  run([](world& w) {
    for (const weight delta : {1e-3f, 100.0f}) {
      sample s = random_sample({.vertices = 200, .edges = 1000, .seed = 5});
      s.how.delta = delta;
      search_both_ways(w, s);
    }
  });
}

TEST_P(shortest_paths, of_graphs_smaller_than_the_job) {
  run([](world& w) {
    search_both_ways(w, {.vertices = 1, .edges = {}});
    search_both_ways(w, {.vertices = 2, .edges = {{0, 1, 0.5f}, {0, 0, 0.5f}}});
  });
}

TEST_P(shortest_paths, of_a_long_chain) {
  run([](world& w) {
    sample chain{.vertices = 200, .edges = {}};
    for (vertex v = 0; v + 1 < chain.vertices; ++v) chain.edges.push_back({v, v + 1, 1});
    search_both_ways(w, chain);
  });
}

// More parts than the distances of whose vertices are all remembered.
TEST(many_parts, have_the_same_shortest_paths) {
  amity::testing::run_job(amity::testing::shape("sim", 20, 2), [](world& w) {
    search_both_ways(w, random_sample({.vertices = 900, .edges = 5000, .seed = 6, .crowded = true}));
  });
}

TEST(looking_from_below, saves_messages) {
  const auto messages = [](bool from_below) {
    std::uint64_t sent = 0;
    amity::testing::run_job(amity::testing::shape("sim", 2, 1), [&](world& w) {
      const random_graph edges{.vertices = 4000, .edges = 80000, .seed = 7, .crowded = true};
      const auto mine = edges.share(w.rank(), w.size());
      const auto graph = build_graph<arc>(w, edges.vertices, source_of(mine), {.undirected = true});
      delta_stepping searches(w, graph, {.from_below = from_below});
      sent = searches.run(find_place(w, graph, 0), [](std::uint32_t, std::uint64_t) {}).spent.messages;
    });
    return sent;
  };
  EXPECT_LT(3 * messages(true), 2 * messages(false));
}

TEST(known_distances, are_never_mistaken_for_another_vertex) {
  const places where(8, 64, 1);
  known_distances known(where, where.place(3, 0, 0), 4);
  for (vertex place = 0; place < where.count(); ++place) known.set(place, static_cast<weight>(place));
  std::uint64_t remembered = 0;
  for (vertex place = 0; place < where.count(); ++place) {
    if (known[place] == unreached<weight>) continue;
    EXPECT_EQ(known[place], static_cast<weight>(place));
    ++remembered;
  }
  EXPECT_GE(remembered, 8u + 4u);
  for (vertex row = 0; row < 8; ++row) EXPECT_EQ(known.own(row), static_cast<weight>(where.place(3, 0, row)));
  known.forget();
  EXPECT_EQ(known[where.place(3, 0, 1)], unreached<weight>);
  EXPECT_EQ(known[where.place(63, 0, 7)], unreached<weight>);
}

}  // namespace
}  // namespace amity::apps::graph
