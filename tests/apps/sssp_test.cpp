// Delta-stepping gives the sequential answer to the last bit, with and without looking from below, for lengths of all
// kinds, on every shape of job.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "apps/graph/kernels/known_distances.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/build.hpp"
#include "apps/graph/verify/overflow.hpp"
#include "tests/apps/gather.hpp"
#include "tests/apps/graph_jobs.hpp"
#include "tests/apps/sequential.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

/// What to search, and how.
template <class Weight>
struct sample {
  vertex vertices;
  std::vector<weighted_edge<Weight>> edges;
  bool undirected = true;
  sssp_options how = {};
};

/// `length` makes a weight of a random number in [0, 1).
template <class Weight = float>
sample<Weight> random_sample(const random_graph& edges,
                             const std::type_identity_t<std::function<Weight(float)>>& length = {}) {
  sample<Weight> s{.vertices = edges.vertices, .edges = {}};
  for (const edge& e : edges.all())
    s.edges.push_back({e.source, e.target, length ? length(e.length) : static_cast<Weight>(e.length)});
  return s;
}

/// Distances are right, each is that of the parent and an arc, and the parents lead to the root.
template <class Weight>
void expect_right(const csr<weighted_arc<Weight>>& plain, vertex root, const paths<Weight>& found) {
  const auto distances = testing::sequential_sssp(plain, root).distance;
  for (vertex v = 0; v < distances.size(); ++v) {
    ASSERT_EQ(found.distance[v], distances[v]) << "vertex " << v;
    vertex parent = found.parent[v];
    if (distances[v] == unreached<Weight> || v == root) {
      ASSERT_EQ(parent, v == root ? root : no_vertex);
      continue;
    }
    ASSERT_LT(parent, distances.size());
    ASSERT_TRUE(std::ranges::any_of(
        plain[parent], [&](const auto& a) { return a.target == v && distances[parent] + a.length == distances[v]; }))
        << parent << " does not explain the distance of " << v;
    for (std::size_t steps = 0; parent != root; ++steps, parent = found.parent[parent])
      ASSERT_LT(steps, distances.size()) << "the parents of " << v << " go round";
  }
}

/// Collective.
template <class Weight>
distributed_graph<weighted_arc<Weight>> built(world& w, const sample<Weight>& s) {
  std::vector<weighted_edge<Weight>> mine;
  for (auto i = static_cast<std::size_t>(w.rank()); i < s.edges.size(); i += static_cast<std::size_t>(w.size()))
    mine.push_back(s.edges[i]);
  return build_graph<weighted_arc<Weight>>(w, s.vertices, source_of(mine), {.undirected = s.undirected});
}

/// Collective.
template <class Weight>
void search(world& w, const sample<Weight>& s) {
  const auto graph = built(w, s);
  const auto plain = testing::whole_graph(s.vertices, s.edges, s.undirected);
  delta_stepping searches(w, graph, s.how);
  for (const vertex root : {vertex{0}, s.vertices / 2}) {
    std::vector<std::uint64_t> reached;
    const auto& found = searches.run(find_place(w, graph, root),
                                     [&](std::uint32_t, std::uint64_t so_far) { reached.push_back(so_far); });
    EXPECT_EQ(found.rounds, reached.size());
    EXPECT_FALSE(find_overflow(w, graph, found));
    const paths<Weight> all = testing::gather(w, graph, found);
    if (w.rank() > 0) continue;
    expect_right(plain, root, all);
    EXPECT_EQ(reached.back(), s.vertices - std::ranges::count(all.distance, unreached<Weight>));
  }
}

template <class Weight>
void search_both_ways(world& w, sample<Weight> s) {
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
    auto s = random_sample({.vertices = 500, .edges = 2000, .seed = 3, .crowded = true});
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

TEST_P(shortest_paths, int64_weights_exact) {
  run([](world& w) {
    const random_graph edges{.vertices = 200, .edges = 1000, .seed = 8, .crowded = true};
    for (const std::int64_t least : {std::int64_t{0}, std::int64_t{1} << 24, std::int64_t{1} << 54}) {
      search_both_ways(w, random_sample<std::int64_t>(edges, [&](float x) { return least + std::int64_t(256 * x); }));
    }
    search_both_ways(w,
                     random_sample<std::int64_t>(edges, [](float x) { return std::int64_t(1e15 * std::pow(x, 9)); }));
  });
}

TEST_P(shortest_paths, double_weights_keep_their_digits) {
  run([](world& w) {
    const random_graph edges{.vertices = 200, .edges = 1000, .seed = 9, .crowded = true};
    search_both_ways(w, random_sample<double>(edges, [](float x) { return 1 + static_cast<double>(x) * 0x1p-25; }));
    search_both_ways(w, random_sample<double>(edges, [](float x) { return 1e-300 * static_cast<double>(x); }));
    search_both_ways(w, random_sample<double>(edges, [](float x) { return 1e300 * static_cast<double>(x); }));
  });
}

/// Collective: a chain of two edges of the greatest weight, and a short way to the third vertex if `detour`.
template <class Weight>
void expect_overflow(world& w, bool detour) {
  constexpr Weight most = std::numeric_limits<Weight>::max() - (std::integral<Weight> ? 1 : 0);
  sample<Weight> s{.vertices = 4, .edges = {{0, 1, most}, {1, 2, most}}, .undirected = false};
  if (detour) s.edges.insert(s.edges.end(), {{0, 3, 1}, {3, 2, 1}});
  const auto graph = built(w, s);
  delta_stepping searches(w, graph, s.how);
  const auto& found = searches.run(find_place(w, graph, 0), [](std::uint32_t, std::uint64_t) {});
  const auto edge = find_overflow(w, graph, found);
  const paths<Weight> all = testing::gather(w, graph, found);
  EXPECT_EQ(edge.has_value(), !detour);
  if (edge) {
    EXPECT_EQ(std::tuple(edge->source, edge->target, edge->distance, edge->length), std::tuple(1u, 2u, most, most));
  }
  if (w.rank() > 0) return;
  EXPECT_EQ(all.distance[1], most);
  EXPECT_EQ(all.distance[2], detour ? 2 : unreached<Weight>);
}

TEST_P(shortest_paths, overflow_names_the_edge) {
  run([](world& w) {
    for (const bool detour : {false, true}) {
      expect_overflow<float>(w, detour);
      expect_overflow<double>(w, detour);
      expect_overflow<std::int64_t>(w, detour);
    }
  });
}

TEST_P(shortest_paths, with_a_width_of_buckets_that_the_user_wants) {
  run([](world& w) {
    for (const double delta : {1e-3, 100.0}) {
      auto s = random_sample({.vertices = 200, .edges = 1000, .seed = 5});
      s.how.delta = delta;
      search_both_ways(w, s);
    }
  });
}

TEST_P(shortest_paths, of_graphs_smaller_than_the_job) {
  run([](world& w) {
    search_both_ways<float>(w, {.vertices = 1, .edges = {}});
    search_both_ways<float>(w, {.vertices = 2, .edges = {{0, 1, 0.5f}, {0, 0, 0.5f}}});
  });
}

TEST_P(shortest_paths, of_a_long_chain) {
  run([](world& w) {
    sample<float> chain{.vertices = 200, .edges = {}};
    for (vertex v = 0; v + 1 < chain.vertices; ++v) chain.edges.push_back({v, v + 1, 1});
    search_both_ways(w, chain);
  });
}

TEST(bucket_width, extreme_values_lose_nothing) {
  amity::testing::run_job(amity::testing::shape("sim", 1, 1), [](world& w) {
    const random_graph edges{.vertices = 20, .edges = 40, .seed = 5};
    for (const double delta : {5e-324, 1e308}) {
      const auto search_all = [&](auto s) {
        s.how.delta = delta;
        search_both_ways(w, s);
      };
      search_all(random_sample(edges));
      search_all(random_sample<double>(edges, [](float x) { return 1e300 * static_cast<double>(x); }));
      search_all(random_sample<std::int64_t>(edges, [](float x) { return std::int64_t(1e15 * x); }));
    }
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

TEST(path_sum, int64_overflow_is_unreached) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(path_sum<std::int64_t>(most - 5, 4), most - 1);
  EXPECT_EQ(path_sum<std::int64_t>(most - 5, 5), unreached<std::int64_t>);
  EXPECT_EQ(path_sum<std::int64_t>(most, most), unreached<std::int64_t>);
}

TEST(known_distances, are_never_mistaken_for_another_vertex) {
  const places where(8, 64, 1);
  known_distances<float> known(where, where.place(3, 0, 0), 4);
  for (vertex place = 0; place < where.count(); ++place) known.set(place, static_cast<float>(place));
  std::uint64_t remembered = 0;
  for (vertex place = 0; place < where.count(); ++place) {
    if (known[place] == unreached<float>) continue;
    EXPECT_EQ(known[place], static_cast<float>(place));
    ++remembered;
  }
  EXPECT_GE(remembered, 8u + 4u);
  for (vertex row = 0; row < 8; ++row) EXPECT_EQ(known.own(row), static_cast<float>(where.place(3, 0, row)));
  known.forget();
  EXPECT_EQ(known[where.place(3, 0, 1)], unreached<float>);
  EXPECT_EQ(known[where.place(63, 0, 7)], unreached<float>);
}

}  // namespace
}  // namespace amity::apps::graph
