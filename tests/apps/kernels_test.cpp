// Kernels on distributed graphs give what plain loops over the edges give, on every shape of job; their verifiers
// agree, and notice answers that are wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "apps/graph/kernels/components.hpp"
#include "apps/graph/kernels/explore.hpp"
#include "apps/graph/kernels/pagerank.hpp"
#include "apps/graph/kernels/transposed_product.hpp"
#include "apps/graph/kernels/triangles.hpp"
#include "apps/graph/store/build.hpp"
#include "tests/apps/graph_jobs.hpp"
#include "tests/apps/sequential.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

constexpr auto unwatched = [](std::uint32_t, std::uint64_t) {};

template <class Arc>
distributed_graph<Arc> built(world& w, const random_graph& edges, const build_options& how) {
  const auto mine = edges.share(w.rank(), w.size());
  return build_graph<Arc>(w, edges.vertices, source_of(mine), how);
}

class kernels : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, kernels, ::testing::ValuesIn(testing::job_shapes()), testing::shape_name);

/// Sizes of the components, ascending.
std::vector<std::uint64_t> plain_components(const random_graph& edges) {
  std::vector<vertex> label(edges.vertices);
  std::iota(label.begin(), label.end(), vertex{0});
  const auto all = edges.all();
  for (bool changed = true; changed;) {
    changed = false;
    for (const edge& e : all) {
      const vertex least = std::min(label[e.source], label[e.target]);
      changed |= label[e.source] != least || label[e.target] != least;
      label[e.source] = label[e.target] = least;
    }
  }
  std::map<vertex, std::uint64_t> sizes;
  for (const vertex each : label) ++sizes[each];
  std::vector<std::uint64_t> result;
  for (const auto& [root, size] : sizes) result.push_back(size);
  std::ranges::sort(result);
  return result;
}

void expect_components(world& w, const distributed_graph<vertex>& graph, const std::vector<std::uint64_t>& sizes) {
  std::vector<std::uint64_t> settled;
  components found =
      connected_components(w, graph, [&](std::uint32_t, std::uint64_t vertices) { settled.push_back(vertices); });
  EXPECT_EQ(found.count, sizes.size());
  EXPECT_EQ(found.largest, sizes.back());
  EXPECT_EQ(settled.size(), found.rounds);
  EXPECT_EQ(settled.back(), graph.vertices());
  EXPECT_EQ(mistakes_of(w, graph, found), 0u);
  ++found.count;
  EXPECT_GT(mistakes_of(w, graph, found), 0u) << "a wrong count";
}

TEST_P(kernels, components) {
  run([](world& w) {
    for (const random_graph& edges : {random_graph{.vertices = 1, .edges = 1, .seed = 1},
                                      {.vertices = 5, .edges = 2, .seed = 2},
                                      {.vertices = 900, .edges = 500, .seed = 3},
                                      {.vertices = 900, .edges = 1000, .seed = 4},
                                      {.vertices = 900, .edges = 5000, .seed = 5, .crowded = true}}) {
      expect_components(w, built<vertex>(w, edges, {.undirected = true}), plain_components(edges));
    }
  });
}

TEST_P(kernels, components_of_long_paths) {
  run([](world& w) {
    std::vector<edge> edges;
    for (vertex v = 0; w.rank() == 0 && v < 998; ++v) edges.push_back({v, v + 2, 1});
    for (const distribution kind : {distribution::block, distribution::cyclic, distribution::hash}) {
      const auto graph = build_graph<vertex>(w, 1000, source_of(edges), {.kind = kind, .undirected = true});
      expect_components(w, graph, {500, 500});
    }
  });
}

TEST_P(kernels, components_joined_far_from_their_hubs) {
  run([](world& w) {
    // Two pairs of hubs with ten leaves each; the edge between vertices 40 and 41, which are no hubs, joins them.
    std::vector<edge> edges;
    for (vertex v = 4; w.rank() == 0 && v < 44; ++v) {
      edges.push_back({v, v % 2 * 2, 1});
      edges.push_back({v, v % 2 * 2 + 1, 1});
    }
    if (w.rank() == 0) edges.push_back({40, 41, 1});
    expect_components(w, build_graph<vertex>(w, 44, source_of(edges), {.undirected = true}), {44});
  });
}

TEST_P(kernels, wrong_components_are_noticed) {
  run([](world& w) {
    const auto graph = built<vertex>(w, {.vertices = 300, .edges = 150, .seed = 6}, {.undirected = true});
    components found = connected_components(w, graph, unwatched);
    auto& labels = found.labels.front();
    const auto truth = labels;
    const bool chosen = w.rank() == w.size() - 1;
    // A vertex that has arcs leaves its component, under a label of its own.
    if (chosen) labels[0] = labels[0] == graph.parts[0].first ? graph.parts[0].first + 1 : graph.parts[0].first;
    EXPECT_GT(mistakes_of(w, graph, found), 0u);
    labels = truth;
    // A vertex without arcs joins a component from afar.
    if (chosen) labels[labels.size() - 1] = truth[0];
    --found.count;
    EXPECT_GT(mistakes_of(w, graph, found), 0u);
  });
}

/// The arcs of a graph whose loops and repeated arcs are dropped.
std::set<std::pair<vertex, vertex>> plain_arcs(const random_graph& edges, bool undirected) {
  std::set<std::pair<vertex, vertex>> arcs;
  for (const edge& e : edges.all()) {
    if (e.source == e.target) continue;
    arcs.emplace(e.source, e.target);
    if (undirected) arcs.emplace(e.target, e.source);
  }
  return arcs;
}

std::vector<double> plain_pagerank(const random_graph& edges, bool undirected, double damping) {
  const auto arcs = plain_arcs(edges, undirected);
  std::vector<double> degree(edges.vertices), rank(edges.vertices, 1.0 / edges.vertices);
  for (const auto& [source, target] : arcs) ++degree[source];
  for (int round = 0; round < 200; ++round) {
    std::vector<double> next(edges.vertices);
    double dangling = 0;
    for (vertex v = 0; v < edges.vertices; ++v) dangling += degree[v] == 0 ? rank[v] : 0;
    for (const auto& [source, target] : arcs) next[target] += damping * rank[source] / degree[source];
    for (double& each : next) each += (1 - damping + damping * dangling) / edges.vertices;
    rank.swap(next);
  }
  return rank;
}

TEST_P(kernels, pagerank) {
  run([](world& w) {
    for (const bool undirected : {false, true}) {
      for (const random_graph& edges : {random_graph{.vertices = 1, .edges = 1, .seed = 1},
                                        {.vertices = 300, .edges = 400, .seed = 2},
                                        {.vertices = 300, .edges = 2000, .seed = 3, .crowded = true}}) {
        const auto graph = built<vertex>(w, edges, {.undirected = undirected});
        const pagerank_options how{.damping = 0.8, .tolerance = 1e-13};
        page_ranks found = pagerank(w, graph, how, unwatched);
        EXPECT_LT(found.change, how.tolerance);
        EXPECT_TRUE(check_pagerank(w, graph, found, how).right(found, how));
        const auto expected = plain_pagerank(edges, undirected, how.damping);
        for (std::size_t i = 0; i < graph.parts.size(); ++i) {
          for (vertex row = 0; row < graph.parts[i].size(); ++row) {
            EXPECT_NEAR(found.parts[i][row], expected[graph.parts[i].vertex_of[row]], 1e-12);
          }
        }
      }
    }
  });
}

TEST_P(kernels, pagerank_ends_in_time_and_wrong_ranks_are_noticed) {
  run([](world& w) {
    const auto graph = built<vertex>(w, {.vertices = 300, .edges = 900, .seed = 4, .crowded = true}, {});
    const pagerank_options how{.rounds_max = 7};
    page_ranks found = pagerank(w, graph, how, unwatched);
    EXPECT_EQ(found.rounds, 7u);
    EXPECT_GT(found.change, how.tolerance);
    EXPECT_TRUE(check_pagerank(w, graph, found, how).right(found, how));
    found.parts[0][0] += 0.01;
    found.parts[0][1] -= 0.01;
    EXPECT_FALSE(check_pagerank(w, graph, found, how).right(found, how)) << "the sum is right";
    page_ranks even = pagerank(w, graph, {.damping = 0, .rounds_max = 1}, unwatched);
    EXPECT_EQ(even.change, 0);
    for (auto& part : even.parts) {
      for (double& rank : part) rank = 0;
    }
    even.change = 2;
    EXPECT_FALSE(check_pagerank(w, graph, even, how).right(even, how)) << "ranks do not sum to 1";
  });
}

triangles plain_triangles(const random_graph& edges) {
  triangles result;
  const auto arcs = plain_arcs(edges, true);
  for (const auto& [a, b] : arcs) {
    for (auto next = arcs.lower_bound({a, b + 1}); next != arcs.end() && next->first == a; ++next) {
      ++result.wedges;
      result.count += a < b && arcs.contains({b, next->second});
    }
  }
  return result;
}

TEST_P(kernels, triangles) {
  run([](world& w) {
    for (const random_graph& edges : {random_graph{.vertices = 1, .edges = 0, .seed = 1},
                                      {.vertices = 3, .edges = 20, .seed = 2},
                                      {.vertices = 60, .edges = 600, .seed = 3},
                                      {.vertices = 400, .edges = 4000, .seed = 4, .crowded = true}}) {
      const auto graph = built<vertex>(w, edges, {.undirected = true});
      std::vector<std::uint64_t> dealt;
      const triangles found =
          count_triangles(w, graph, [&](std::uint32_t, std::uint64_t vertices) { dealt.push_back(vertices); });
      const triangles expected = plain_triangles(edges);
      EXPECT_EQ(found.count, expected.count);
      EXPECT_EQ(found.wedges, expected.wedges);
      EXPECT_EQ(count_closed_wedges(w, graph), expected.count);
      EXPECT_EQ(dealt.back(), graph.vertices());
    }
  });
}

TEST(triangle_messages, are_one_list_for_each_other_part_at_most) {
  amity::testing::run_job(amity::testing::shape("sim", 2, 1), [](world& w) {
    const random_graph edges{.vertices = 200, .edges = 4000, .seed = 5};
    const auto graph = built<vertex>(w, edges, {.undirected = true});
    const triangles found = count_triangles(w, graph, unwatched);
    EXPECT_GT(found.spent.messages, 0u);
    EXPECT_LE(found.spent.messages, edges.vertices);
  });
}

double entry_of_x(vertex v) { return v % 7 - 3.0; }

std::vector<double> plain_product(const std::vector<weighted_edge<double>>& entries, vertex rows) {
  std::vector<double> y(rows);
  for (const auto& e : entries) y[e.target] += e.length * entry_of_x(e.source);
  return y;
}

TEST_P(kernels, transposed_product) {
  run([](world& w) {
    const random_graph edges{.vertices = 120, .edges = 3000, .seed = 7, .crowded = true};
    std::vector<weighted_edge<double>> entries;
    // Sums are exact in any order. Entries have more digits than float32.
    for (const edge& e : edges.all())
      entries.push_back({e.source, e.target, std::floor(static_cast<double>(e.length) * 0x1p28) - 0x1p27 + 1});
    const auto expected = plain_product(entries, edges.vertices);
    if (w.rank() > 0) entries.clear();
    const auto matrix = build_graph<matrix_entry>(w, edges.vertices, source_of(entries), {.simple = false});
    distributed_vector x, y;
    for (const auto& part : matrix.parts) {
      auto& own = x.emplace_back();
      for (const vertex v : part.vertex_of) own.push_back(entry_of_x(v));
    }
    transposed_product product(w, matrix);
    for (int times = 0; times < 2; ++times) {
      product.run(x, y);
      EXPECT_EQ(product_error(w, matrix, x, y), 0);
      for (std::size_t i = 0; i < matrix.parts.size(); ++i) {
        for (vertex row = 0; row < matrix.parts[i].size(); ++row) {
          EXPECT_EQ(y[i][row], expected[matrix.parts[i].vertex_of[row]]);
        }
      }
    }
    if (w.size() > 1) {
      EXPECT_GT(w.sum(product.counters().combined), 0u);
    }
    std::swap(y[0][0], y[0][1]);
    if (w.rank() == 0) ++y[0][2];
    EXPECT_GT(product_error(w, matrix, x, y), 1e-9);
  });
}

TEST_P(kernels, exploration) {
  run([](world& w) {
    for (const bool undirected : {false, true}) {
      for (const random_graph& edges : {random_graph{.vertices = 1, .edges = 1, .seed = 1},
                                        {.vertices = 700, .edges = 900, .seed = 8},
                                        {.vertices = 700, .edges = 4000, .seed = 9, .crowded = true}}) {
        const auto graph = built<vertex>(w, edges, {.undirected = undirected});
        const vertex root = find_place(w, graph, 0);
        const auto plain = testing::whole_graph(edges.vertices, edges.all(), undirected);
        const auto expected = testing::sequential_bfs(plain, 0).distance;
        for (const auto explore : {explore_nested, explore_queued}) {
          exploration found = explore(w, graph, root);
          EXPECT_EQ(found.count, expected.size() - std::ranges::count(expected, unreached<level>));
          EXPECT_GE(found.epochs, 1u);
          EXPECT_EQ(mistakes_of(w, graph, root, found), 0u);
          for (std::size_t i = 0; i < graph.parts.size(); ++i) {
            for (vertex row = 0; row < graph.parts[i].size(); ++row) {
              EXPECT_EQ(found.parts[i].contains(row), expected[graph.parts[i].vertex_of[row]] != unreached<level>);
            }
          }
          if (!found.parts[0].insert(0)) found.parts[0].erase(0);
          EXPECT_GT(mistakes_of(w, graph, root, found), 0u);
        }
      }
    }
  });
}

}  // namespace
}  // namespace amity::apps::graph
