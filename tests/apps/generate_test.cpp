// Generators: what is random is distributed as it should be, and the same for any number of ranks and threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "apps/graph/generate/erdos_renyi.hpp"
#include "apps/graph/generate/kronecker.hpp"
#include "tests/apps/graph_jobs.hpp"
#include "tests/support/errors.hpp"

namespace amity::apps::graph {
namespace {

using amity::testing::error_of;

std::vector<edge> edges_of(const generator auto& graph) {
  std::vector<edge> all(graph.about().edges);
  graph.fill(0, all);
  return all;
}

std::uint64_t print_of(const edge& e) {
  return splitmix64::mix(splitmix64::mix(e.source) + e.target) * (1 + static_cast<std::uint64_t>(e.length * 0x1p24f));
}

class generated_edges : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, generated_edges, ::testing::ValuesIn(testing::job_shapes()), testing::shape_name);

void expect_each_once(world& w, const generator auto& graph) {
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < graph.about().edges; ++i) expected += print_of(graph(i));
  const edge_source source = source_of(w, graph);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(w.threads())), prints(counts.size());
  w.epoch([&](thread& t) {
    const auto index = static_cast<std::size_t>(t.thread_index());
    source(t, [&](std::span<const edge> some) {
      counts[index] += some.size();
      for (const edge& e : some) prints[index] += print_of(e);
    });
  });
  std::uint64_t count = 0, print = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint64_t parts = static_cast<std::uint64_t>(w.size()) * static_cast<std::uint64_t>(w.threads());
    EXPECT_LE(counts[i], graph.about().edges / parts + 1);
    count += counts[i];
    print += prints[i];
  }
  EXPECT_EQ(w.sum(count), graph.about().edges);
  EXPECT_EQ(w.sum(print), expected);
}

TEST_P(generated_edges, lie_with_one_thread_each) {
  run([](world& w) {
    expect_each_once(w, kronecker({.scale = 10, .seed = 7}));
    expect_each_once(w, erdos_renyi({.vertices = 3, .edges = 1, .seed = 7}));
    expect_each_once(w, erdos_renyi({.vertices = 3, .edges = 0, .cycle = false}));
  });
}

/// The cells of the adjacency matrix, by how many edges they have, have as many as Graph500's probabilities want.
/// Renumbering moves cells about, and changes nothing else.
void expect_kronecker(int scale, std::uint32_t edge_factor) {
  std::vector<double> wanted{1};
  for (int i = 0; i < scale; ++i) {
    std::vector<double> finer;
    for (const double p : wanted) {
      for (const double quadrant : {0.57, 0.19, 0.19, 0.05}) finer.push_back(p * quadrant);
    }
    wanted = finer;
  }
  const auto edges = edges_of(kronecker({.scale = scale, .edge_factor = edge_factor, .seed = 3}));
  std::map<std::pair<vertex, vertex>, double> cells;
  double loops = 0;
  for (const edge& e : edges) {
    ASSERT_LT(e.source, vertex{1} << scale);
    ASSERT_LT(e.target, vertex{1} << scale);
    ++cells[{e.source, e.target}];
    loops += e.source == e.target ? 1 : 0;
  }
  std::vector<double> found;
  for (const auto& [cell, count] : cells) found.push_back(count);
  found.resize(wanted.size());
  std::ranges::sort(wanted, std::greater());
  std::ranges::sort(found, std::greater());
  const double all = static_cast<double>(edges.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], all * wanted[i], 4 * std::sqrt(all * wanted[i]) + 4) << "scale " << scale << ", cell " << i;
  }
  const double loop_share = std::pow(0.62, scale);
  EXPECT_NEAR(loops, all * loop_share, 4 * std::sqrt(all * loop_share)) << "vertices are renumbered alike";
}

TEST(kronecker, has_the_quadrants_of_graph500) {
  expect_kronecker(1, 20'000);
  expect_kronecker(3, 20'000);
  expect_kronecker(5, 6'000);
}

TEST(erdos_renyi, draws_ends_from_all_vertices_alike) {
  const auto edges = edges_of(erdos_renyi({.vertices = 10, .edges = 50'000, .seed = 2, .cycle = false}));
  ASSERT_EQ(edges.size(), 50'000u);
  std::vector<double> cells(100);
  double lengths = 0;
  for (const edge& e : edges) {
    ++cells[e.source * 10 + e.target];
    lengths += static_cast<double>(e.length);
    ASSERT_TRUE(e.length >= 0 && e.length < 1);
  }
  for (const double count : cells) EXPECT_NEAR(count, 500, 4 * std::sqrt(500));
  EXPECT_NEAR(lengths / 50'000, 0.5, 0.01);
}

TEST(erdos_renyi, ends_with_a_cycle_through_all_vertices) {
  for (const vertex vertices : {1u, 2u, 3u, 100u}) {
    const erdos_renyi graph({.vertices = vertices, .edges = 5, .seed = 4});
    EXPECT_EQ(graph.about().edges, 5u + vertices);
    std::set<vertex> passed;
    for (std::uint64_t i = 5; i < 5 + vertices; ++i) {
      EXPECT_EQ(graph(i).target, graph(i + 1 < 5 + vertices ? i + 1 : 5).source);
      passed.insert(graph(i).source);
    }
    EXPECT_EQ(passed.size(), vertices);
  }
}

TEST(generators, give_the_same_edges_however_they_are_asked) {
  const kronecker graph({.scale = 9});
  const auto all = edges_of(graph);
  std::vector<edge> some(100);
  graph.fill(333, some);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(print_of(some[i]), print_of(all[333 + i]));
    EXPECT_EQ(print_of(some[i]), print_of(graph(333 + i)));
  }
}

TEST(generators, make_other_graphs_of_other_seeds) {
  EXPECT_NE(print_of(kronecker({.scale = 20, .seed = 1})(0)), print_of(kronecker({.scale = 20, .seed = 2})(0)));
  const erdos_renyi one({.vertices = 1000, .edges = 1, .seed = 1}), two({.vertices = 1000, .edges = 1, .seed = 2});
  EXPECT_NE(print_of(one(0)), print_of(two(0)));
  EXPECT_NE(print_of(one(1)), print_of(two(1))) << "the cycle";
}

TEST(generators, refuse_what_they_cannot_make) {
  EXPECT_EQ(error_of([] { kronecker({.scale = 31}); }),
            "amity: kronecker: scale 31; take 1 to 30: vertices have 32-bit numbers");
  EXPECT_NE(error_of([] { kronecker({.scale = 0}); }), "no error");
  EXPECT_EQ(error_of([] { kronecker({.scale = 5, .edge_factor = 0}); }),
            "amity: kronecker: edge factor 0; take 1 to 1048576 edges for each vertex; Graph500 has 16");
  EXPECT_EQ(error_of([] { erdos_renyi({.vertices = 0, .edges = 1}); }),
            "amity: erdos_renyi: a graph of 0 vertices; take 1 to 2147483648: vertices have 32-bit numbers");
  EXPECT_NE(error_of([] { erdos_renyi({.vertices = no_vertex, .edges = 1}); }), "no error");
}

TEST(permutations, are_one_to_one_and_differ_by_seed) {
  for (const vertex count : {1u, 2u, 7u, 64u, 1000u}) {
    const permutation order(count, 9);
    std::set<vertex> all;
    for (vertex v = 0; v < count; ++v) all.insert(order(v));
    EXPECT_EQ(all.size(), count);
    EXPECT_LT(*all.rbegin(), count);
  }
  const permutation one(1000, 1), two(1000, 2);
  int equal = 0;
  for (vertex v = 0; v < 1000; ++v) equal += one(v) == two(v) ? 1 : 0;
  EXPECT_LT(equal, 20);
}

}  // namespace
}  // namespace amity::apps::graph
