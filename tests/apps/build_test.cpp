// Distributed graphs have exactly the arcs of their edges, whoever owns the vertices and wherever the edges were.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "apps/graph/store/build.hpp"
#include "tests/apps/graph_jobs.hpp"

namespace amity::apps::graph {
namespace {

using testing::random_graph;

std::uint64_t print_of(vertex source, vertex target, float length) {
  return splitmix64::mix(splitmix64::mix(source) + target) * (1 + std::uint64_t(length * 0x1p24f));
}

/// The arcs that a graph is to have, by a plain way to the same end.
std::uint64_t expected_print(const random_graph& edges, const build_options& how, std::uint64_t& arcs) {
  std::map<std::pair<vertex, vertex>, std::multiset<float>> lengths;
  const auto add = [&](vertex source, vertex target, float length) {
    if (!how.simple || source != target) lengths[{source, target}].insert(length);
  };
  for (const edge& e : edges.all()) {
    add(e.source, e.target, e.length);
    if (how.undirected && e.source != e.target) add(e.target, e.source, e.length);
  }
  std::uint64_t print = 0;
  arcs = 0;
  for (const auto& [ends, all] : lengths) {
    for (const float length : all) {
      print += print_of(ends.first, ends.second, length);
      ++arcs;
      if (how.simple) break;
    }
  }
  return print;
}

struct half_told {
  vertex target;  // a place
  vertex source;
  float length;
};

/// Adds the arcs of a graph up. What a place means, its owner knows. Collective.
std::uint64_t print_of_graph(world& w, const distributed_graph<arc>& graph) {
  std::vector<std::uint64_t> prints(static_cast<std::size_t>(w.threads()));
  auto tell = w.message<half_told>(
      [&](const half_told& a, auto& self) {
        const auto& part = graph.parts[static_cast<std::size_t>(self.thread_index())];
        EXPECT_LT(a.target - part.first, part.size());
        prints[static_cast<std::size_t>(self.thread_index())] +=
            print_of(a.source, part.vertex_of[a.target - part.first], a.length);
      },
      parallel{thread_of_target{graph.where}}, coalesce{});
  return w.epoch(
      [&](thread& t) {
        const auto& part = graph.of(t);
        for (vertex row = 0; row < part.size(); ++row) {
          for (const arc& a : part.rows[row])
            tell.on(t).send(graph.where.rank(a.target), {a.target, part.vertex_of[row], a.length});
        }
      },
      [&](thread& t) { return prints[static_cast<std::size_t>(t.thread_index())]; });
}

void expect_built(world& w, const random_graph& edges, const build_options& how) {
  const auto mine = edges.share(w.rank(), w.size());
  const auto graph = build_graph<arc>(w, edges.vertices, source_of(mine), how);
  std::uint64_t arcs = 0;
  const std::uint64_t expected = expected_print(edges, how, arcs);
  EXPECT_EQ(graph.edges, edges.edges);
  EXPECT_EQ(graph.arcs, arcs);
  EXPECT_EQ(print_of_graph(w, graph), expected) << name_of(how.kind) << how.undirected << how.simple;
  std::uint64_t vertices = 0;
  for (const auto& part : graph.parts) {
    vertices += part.size();
    for (vertex row = 0; row < part.size(); ++row) {
      EXPECT_EQ(part.rows.degree(row) > 0, row < part.joined) << "rows without arcs come last";
      EXPECT_TRUE(std::ranges::is_sorted(part.rows[row], {}, [](const arc& a) { return a.length; }));
    }
  }
  EXPECT_EQ(w.sum(vertices), edges.vertices);
}

class built_graphs : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, built_graphs, ::testing::ValuesIn(testing::job_shapes_and_many_ranks()),
                         testing::shape_name);

TEST_P(built_graphs, have_the_arcs_of_their_edges) {
  run([](world& w) {
    for (const distribution kind : {distribution::block, distribution::cyclic, distribution::hash}) {
      for (const int bits : {0, 1, 2, 3}) {
        const build_options how{.kind = kind, .undirected = (bits & 1) > 0, .simple = (bits & 2) > 0};
        expect_built(w, {.vertices = 97, .edges = 700, .seed = 5, .crowded = (bits & 1) > 0}, how);
      }
    }
  });
}

TEST_P(built_graphs, have_rows_without_arcs_last_where_loops_are_dropped) {
  run([](world& w) { expect_built(w, {.vertices = 300, .edges = 150, .seed = 6}, {.undirected = true}); });
}

TEST_P(built_graphs, may_be_smaller_than_the_job) {
  run([](world& w) {
    expect_built(w, {.vertices = 1, .edges = 0, .seed = 1}, {});
    expect_built(w, {.vertices = 1, .edges = 3, .seed = 1}, {.kind = distribution::block, .simple = false});
    expect_built(w, {.vertices = 2, .edges = 5, .seed = 1}, {.kind = distribution::hash, .undirected = true});
  });
}

TEST_P(built_graphs, go_over_a_grid_where_ranks_are_many) {
  run([](world& w) {
    with_topology(w, []<class Topology>(const Topology&) {
      EXPECT_EQ((std::same_as<Topology, grid>), GetParam().ranks > direct_ranks_max);
    });
  });
}

TEST_P(built_graphs, find_the_places_of_their_vertices) {
  run([](world& w) {
    const random_graph edges{.vertices = 50, .edges = 100, .seed = 8};
    const auto mine = edges.share(w.rank(), w.size());
    const auto graph = build_graph<vertex>(w, edges.vertices, source_of(mine), {});
    std::set<vertex> places;
    for (vertex v = 0; v < 50; ++v) places.insert(find_place(w, graph, v));
    EXPECT_EQ(places.size(), 50u);
    EXPECT_FALSE(places.contains(no_vertex));
    EXPECT_EQ(find_place(w, graph, 50), no_vertex);
  });
}

TEST(distribution, deals_every_vertex_to_one_slot_and_evenly) {
  for (const distribution kind : {distribution::block, distribution::cyclic, distribution::hash}) {
    for (const vertex count : {1u, 2u, 7u, 64u, 1000u}) {
      for (const std::uint32_t parts : {1u, 2u, 3u, 8u}) {
        const dealing owners(kind, count, parts);
        std::set<std::pair<std::uint32_t, vertex>> taken;
        for (vertex v = 0; v < count; ++v) {
          ASSERT_LT(owners.part(v), parts);
          ASSERT_LT(owners.slot(v), owners.count_of(owners.part(v))) << name_of(kind) << ' ' << v << " of " << count;
          ASSERT_EQ(owners.at(owners.part(v), owners.slot(v)), v);
          taken.emplace(owners.part(v), owners.slot(v));
        }
        EXPECT_EQ(taken.size(), count);
        EXPECT_LE(owners.largest(), count / parts + 1);
        EXPECT_EQ(parse_distribution(name_of(kind)), kind);
      }
    }
  }
  EXPECT_FALSE(parse_distribution("random"));
}

TEST(distribution, by_hash_scatters_neighbours) {
  const dealing owners(distribution::hash, 1000, 4);
  std::set<std::uint32_t> parts;
  for (vertex v = 0; v < 16; ++v) parts.insert(owners.part(v));
  EXPECT_EQ(parts.size(), 4u);
}

TEST(places, are_told_apart_by_rank_thread_and_row) {
  const places where(5, 3, 3);
  std::set<vertex> all;
  for (rank_t rank = 0; rank < 3; ++rank) {
    for (rank_t thread = 0; thread < 3; ++thread) {
      for (vertex row = 0; row < 5; ++row) {
        const vertex place = where.place(rank, thread, row);
        EXPECT_EQ(std::tuple(where.rank(place), where.thread(place), where.row(place)),
                  std::tuple(rank, static_cast<std::uint32_t>(thread), row));
        EXPECT_LT(place, where.count());
        all.insert(place);
      }
    }
  }
  EXPECT_EQ(all.size(), 45u);
  EXPECT_THROW(places(vertex{1} << 30, 3, 1), error);
}

TEST(build_graph, refuses_an_edge_to_a_vertex_that_there_is_none) {
  const auto [status, errors] = amity::testing::outcome_of(amity::testing::shape("sim", 1, 1), [](world& w) {
    const std::vector<edge> edges{{0, 7, 1}};
    build_graph<vertex>(w, 7, source_of(edges), {});
  });
  EXPECT_EQ(status, 1);
  EXPECT_NE(errors.find("an edge to vertex 7 of 7"), std::string::npos) << errors;
}

}  // namespace
}  // namespace amity::apps::graph
