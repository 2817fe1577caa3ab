// The proof: right answers pass, and each kind of wrong answer is found, wherever the vertices are.

#include "apps/graph/verify/proof.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "apps/graph/store/build.hpp"
#include "tests/apps/graph_jobs.hpp"
#include "tests/apps/sequential.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

class proofs : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, proofs, ::testing::ValuesIn(testing::job_shapes_and_many_ranks()), testing::shape_name);

/// A graph of `Arc` on all ranks, and answers to it that are right or are made wrong.
template <class Arc, class Distance>
struct examined {
  using edges_type = std::vector<weighted_edge<weight_of<Arc>>>;

  examined(world& job, vertex vertices, const edges_type& edges, bool undirected)
      : w(job),
        whole(testing::whole_graph(vertices, edges, undirected)),
        graph(build_graph<Arc>(
            w, vertices, source_of(std::span(edges).first(w.rank() == 0 ? edges.size() : 0)),
            {.kind = vertices % 2 == 0 ? distribution::cyclic : distribution::hash, .undirected = undirected})),
        place_of(testing::all_places(w, graph)) {}

  /// Collective. The root is that of the last search.
  std::string mistake_in(const paths<Distance>& found) {
    return find_mistake(w, graph, place_of[root], testing::in_parts(graph, place_of, found));
  }

  template <class Change>
  std::string mistake_after(Change change, paths<Distance> wrong) {
    change(wrong.distance, wrong.parent);
    return mistake_in(wrong);
  }

  paths<Distance> search(vertex from) {
    root = from;
    if constexpr (std::is_same_v<Distance, level>) {
      return testing::sequential_bfs(whole, root);
    } else {
      return testing::sequential_sssp(whole, root);
    }
  }

  world& w;
  csr<weighted_arc<weight_of<Arc>>> whole;
  distributed_graph<Arc> graph;
  std::vector<vertex> place_of;
  vertex root = 0;
};
using bfs_of = examined<vertex, level>;
template <class Weight>
using weighted_sssp_of = examined<weighted_arc<Weight>, Weight>;
using sssp_of = weighted_sssp_of<float>;

template <class Examined>
void expect_only_right_passes(world& w, const random_graph& edges, bool undirected) {
  Examined e(w, edges.vertices, edges.all(), undirected);
  for (vertex root = 0; root < 3; ++root) EXPECT_EQ(e.mistake_in(e.search(root)), "");
  const auto right = e.search(0);
  for (vertex v = 0; v < edges.vertices; v += 11) {
    if (right.parent[v] == no_vertex) continue;
    auto wrong = right;
    wrong.distance[v] += 1;
    EXPECT_EQ(e.mistake_in(wrong).find("vertex " + std::to_string(v) + ", at distance "), 0u);
  }
}

TEST_P(proofs, of_random_graphs) {
  run([](world& w) {
    for (const bool undirected : {false, true}) {
      const random_graph edges{.vertices = undirected ? 70u : 71u, .edges = 150, .seed = 3, .crowded = undirected};
      expect_only_right_passes<bfs_of>(w, edges, undirected);
      expect_only_right_passes<sssp_of>(w, edges, undirected);
    }
  });
}

TEST_P(proofs, int64_and_double_distances) {
  run([](world& w) {
    const auto check = [&]<class Weight>(Weight least) {
      std::vector<weighted_edge<Weight>> edges;
      for (const edge& e : random_graph{.vertices = 71, .edges = 150, .seed = 3}.all())
        edges.push_back({e.source, e.target, least + static_cast<Weight>(1000 * e.length)});
      weighted_sssp_of<Weight> e(w, 71, edges, false);
      const auto right = e.search(0);
      EXPECT_EQ(e.mistake_in(right), "");
      for (vertex v = 1; v < 71; v += 7) {
        if (right.parent[v] == no_vertex) continue;
        auto wrong = right;
        wrong.distance[v] += 1;  // too little for float32 to see
        EXPECT_EQ(e.mistake_in(wrong).find("vertex " + std::to_string(v) + ", at distance "), 0u);
      }
    };
    check(std::int64_t{1} << 55);
    check(0x1p40);
  });
}

TEST_P(proofs, of_a_long_chain_and_of_a_lonely_root) {
  run([](world& w) {
    std::vector<edge> chain;
    for (vertex v = 0; v + 1 < 100; ++v) chain.push_back({v, v + 1, 0.1f});
    sssp_of e(w, 100, chain, false);
    EXPECT_EQ(e.mistake_in(e.search(0)), "");
    EXPECT_EQ(e.mistake_in(e.search(99)), "");
    bfs_of lonely(w, 1, {}, false);
    EXPECT_EQ(lonely.mistake_in(lonely.search(0)), "");
  });
}

// A diamond with a long way round, a chain of length 0, and a vertex that nothing leads to.
enum : vertex { a, b, c, d, e, x, count };
const std::vector<edge> diamond{{a, b, 1}, {a, c, 5}, {b, c, 1}, {c, d, 0}, {d, c, 0}, {d, e, 0}, {x, a, 1}};

TEST_P(proofs, find_wrong_levels_and_parents) {
  run([](world& w) {
    bfs_of examined(w, count, diamond, false);
    const auto right = examined.search(a);
    EXPECT_EQ(examined.mistake_in(right), "");
    const auto mistake = [&](auto change) { return examined.mistake_after(change, right); };
    EXPECT_EQ(mistake([](auto& distance, auto&) { distance[d] = 1; }),
              "vertex 3, at distance 1: no edge from its parent, vertex 2 at distance 1, leads to that distance");
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[d] = b; }),
              "vertex 3, at distance 2: no edge from its parent, vertex 1 at distance 1, leads to that distance")
        << "they are no neighbours";
    EXPECT_EQ(mistake([](auto& distance, auto& parent) { distance[e] = unreached<level>, parent[e] = no_vertex; }),
              "vertex 4, unreached: an edge from vertex 3 leads to it at distance 3");
    EXPECT_EQ(mistake([](auto& distance, auto& parent) { distance[x] = 1, parent[x] = a; }),
              "vertex 5, at distance 1: no edge from its parent, vertex 0 at distance 0, leads to that distance");
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[e] = no_vertex; }),
              "vertex 4, at distance 3: its parent is no vertex of the graph");
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[x] = b; }),
              "vertex 5, unreached: its parent is vertex 1, but what is unreached has none");
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[a] = x; }),
              "vertex 0, at distance 0, its parent vertex 5: the root must be at distance 0 and its own parent");
    EXPECT_EQ(mistake([](auto& distance, auto&) { distance[a] = 1; }),
              "vertex 0, at distance 1, its parent vertex 0: the root must be at distance 0 and its own parent");
  });
}

TEST_P(proofs, find_wrong_lengths_and_cycles) {
  run([](world& w) {
    sssp_of examined(w, count, diamond, false);
    const auto right = examined.search(a);
    EXPECT_EQ(examined.mistake_in(right), "");
    const auto mistake = [&](auto change) { return examined.mistake_after(change, right); };
    EXPECT_EQ(mistake([](auto& distance, auto& parent) {
                distance[c] = distance[d] = distance[e] = 5;
                parent[c] = a;
              }),
              "vertex 2, at distance 5: an edge from vertex 1 leads to it at distance 2")
        << "a tree, but not of shortest paths";
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[c] = a; }),
              "vertex 2, at distance 2: no edge from its parent, vertex 0 at distance 0, leads to that distance");
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[c] = d; }),
              "vertex 2, at distance 2: its parents never lead to the root")
        << "both edges of the cycle explain their distances";
    EXPECT_EQ(mistake([](auto&, auto& parent) { parent[e] = e; }),
              "vertex 4, at distance 2: its parents never lead to the root");
    EXPECT_EQ(mistake([](auto& distance, auto&) { distance[e] = std::nanf(""); }),
              "vertex 4, at distance nan: no edge from its parent, vertex 3 at distance 2, leads to that distance");
    EXPECT_NE(mistake([](auto&, auto& parent) { parent[e] = no_vertex - 1; }), "");
  });
}

/// Places that rounding up leaves to nobody are parents of nobody.
TEST(proof, finds_parents_in_gaps) {
  amity::testing::run_job(amity::testing::shape("sim", 3, 3), [](world& w) {
    bfs_of examined(w, 2, {{0, 1, 1}}, false);
    auto found = testing::in_parts(examined.graph, examined.place_of, examined.search(0));
    const places& where = examined.graph.where;
    for (const vertex gap : {where.place(0, 0, 1), where.place(2, 2, 1), where.place(1, 3, 0), where.place(3, 0, 0)}) {
      for (std::size_t i = 0; i < found.parts.size(); ++i) {
        if (examined.place_of[1] == examined.graph.parts[i].first) found.parts[i].parent[0] = gap;
      }
      EXPECT_EQ(find_mistake(w, examined.graph, examined.place_of[0], found),
                "vertex 1, at distance 1: its parent is no vertex of the graph");
    }
  });
}

}  // namespace
}  // namespace amity::apps::graph
