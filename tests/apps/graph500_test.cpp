// Graph500: the same roots on every job, edges counted as specified, figures that a reader of its results knows.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "apps/graph/graph500/result.hpp"
#include "apps/graph/graph500/roots.hpp"
#include "apps/graph/graph500/statistics.hpp"
#include "apps/graph/store/build.hpp"
#include "tests/apps/graph_jobs.hpp"

namespace amity::apps::graph {
namespace {

class graph500 : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, graph500, ::testing::ValuesIn(testing::job_shapes()), testing::shape_name);

/// The numbers of the vertices at `places`. Collective.
std::vector<vertex> numbers_at(world& w, const distributed_graph<vertex>& graph, const std::vector<vertex>& places) {
  std::vector<vertex> numbers;
  for (const vertex place : places) {
    std::uint64_t number = no_vertex;
    for (const auto& part : graph.parts) {
      if (place - part.first < part.size()) number = part.vertex_of[place - part.first];
    }
    numbers.push_back(static_cast<vertex>(w.min(number)));
  }
  return numbers;
}

/// Two components, {0, 1, 2} and {4, 5}, with loops and repeated edges; 3 has nothing, 6 only a loop.
const std::vector<edge> islands{{0, 1, 1}, {1, 0, 1}, {1, 2, 1}, {2, 2, 1}, {4, 5, 1}, {4, 5, 1}, {6, 6, 1}};

distributed_graph<vertex> build_islands(world& w, bool undirected, bool simple) {
  const std::span<const edge> mine = w.rank() == 0 ? std::span(islands) : std::span<const edge>();
  return build_graph<vertex>(w, 7, source_of(mine), {.undirected = undirected, .simple = simple});
}

TEST_P(graph500, searches_begin_at_the_same_vertices_with_neighbours) {
  run([](world& w) {
    for (const bool simple : {true, false}) {
      const auto graph = build_islands(w, true, simple);
      EXPECT_EQ(numbers_at(w, graph, search_roots(w, graph, 1, 64)), (std::vector<vertex>{4, 5, 0, 1, 2}));
      EXPECT_EQ(numbers_at(w, graph, search_roots(w, graph, 1, 3)), (std::vector<vertex>{4, 5, 0}));
      EXPECT_EQ(numbers_at(w, graph, search_roots(w, graph, 2, 3)), (std::vector<vertex>{1, 0, 4}));
      EXPECT_TRUE(search_roots(w, graph, 1, 0).empty());
    }
    const auto directed = build_islands(w, false, true);
    auto roots = numbers_at(w, directed, search_roots(w, directed, 1, 64));
    std::ranges::sort(roots);
    EXPECT_EQ(roots, (std::vector<vertex>{0, 1, 4})) << "2 and 5 have no arcs to others";
  });
}

answer<level> reaching(const distributed_graph<vertex>& graph, std::initializer_list<vertex> reached) {
  answer<level> found;
  for (const auto& part : graph.parts) {
    auto& own = found.parts.emplace_back(nothing_reached<level>(part.size()));
    for (vertex row = 0; row < part.size(); ++row) {
      if (std::ranges::find(reached, part.vertex_of[row]) != reached.end()) own.distance[row] = 0;
    }
  }
  return found;
}

TEST_P(graph500, counts_edges_of_the_component_with_repeats_and_without_loops) {
  run([](world& w) {
    const auto graph = build_islands(w, true, true);
    EXPECT_EQ(traversed_edges(w, graph, reaching(graph, {0, 1, 2})), 3u);
    EXPECT_EQ(traversed_edges(w, graph, reaching(graph, {4, 5})), 2u);
    EXPECT_EQ(traversed_edges(w, graph, reaching(graph, {3})), 0u);
    EXPECT_EQ(traversed_edges(w, graph, reaching(graph, {6})), 0u);
    const auto directed = build_islands(w, false, true);
    EXPECT_EQ(traversed_edges(w, directed, reaching(directed, {1, 2})), 2u) << "edges that leave them";
  });
}

TEST(spread, of_few_values) {
  const std::vector<double> four{4, 1, 3, 2};
  const spread s = spread_of(four);
  EXPECT_EQ(std::tuple(s.min, s.first_quartile, s.median, s.third_quartile, s.max, s.mean),
            std::tuple(1, 1.5, 2.5, 3.5, 4, 2.5));
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(5.0 / 3));
  const std::vector<double> five{50, 10, 40, 20, 30};
  const spread t = spread_of(five);
  EXPECT_EQ(std::tuple(t.first_quartile, t.median, t.third_quartile), std::tuple(20, 30, 40));
  const std::vector<double> one{7};
  EXPECT_EQ(std::tuple(spread_of(one).first_quartile, spread_of(one).median, spread_of(one).deviation),
            std::tuple(7, 7, 0));
}

TEST(rates, have_harmonic_means) {
  const std::vector<double> work{100, 100}, seconds{1, 4};  // 100 and 25 a second
  const rate_spread r = rates_of(work, seconds);
  EXPECT_DOUBLE_EQ(r.min, 25);
  EXPECT_DOUBLE_EQ(r.max, 100);
  EXPECT_DOUBLE_EQ(r.harmonic_mean, 40);
  // Seconds of a unit: 0.01 and 0.04, mean 0.025, deviation 0.03 / sqrt(2), one degree of freedom.
  EXPECT_DOUBLE_EQ(r.harmonic_deviation, 0.03 / std::sqrt(2.0) / (0.025 * 0.025));
}

TEST(graph500_result, reads_as_that_of_the_reference_code) {
  const graph500_result result{.scale = 18,
                               .edge_factor = 16,
                               .generation_seconds = 0.5,
                               .construction_seconds = 1.25,
                               .ranks = 2,
                               .input_edges = 4194304,
                               .edges = {4194304, 4194304},
                               .kernels = {{.kernel = "bfs", .seconds = {0.5, 0.25}, .validate_seconds = {2, 2}},
                                           {.kernel = "sssp", .weight_type = "float32", .seconds = {1, 1}}}};
  EXPECT_EQ(to_text(result), R"(SCALE:                          18
edgefactor:                     16
NBFS:                           2
graph_generation:               0.5
num_mpi_processes:              2
construction_time:              1.25
bfs  min_time:                  0.25
bfs  firstquartile_time:        0.25
bfs  median_time:               0.375
bfs  thirdquartile_time:        0.5
bfs  max_time:                  0.5
bfs  mean_time:                 0.375
bfs  stddev_time:               0.176777
sssp min_time:                  1
sssp firstquartile_time:        1
sssp median_time:               1
sssp thirdquartile_time:        1
sssp max_time:                  1
sssp mean_time:                 1
sssp stddev_time:               0
min_nedge:                      4194304
firstquartile_nedge:            4194304
median_nedge:                   4194304
thirdquartile_nedge:            4194304
max_nedge:                      4194304
mean_nedge:                     4194304
stddev_nedge:                   0
bfs  min_TEPS:                  8.38861e+06
bfs  firstquartile_TEPS:        8.38861e+06
bfs  median_TEPS:               1.11848e+07
bfs  thirdquartile_TEPS:        1.67772e+07
bfs  max_TEPS:                  1.67772e+07
bfs  harmonic_mean_TEPS:     !  1.11848e+07
bfs  harmonic_stddev_TEPS:      5.27257e+06
sssp min_TEPS:                  4.1943e+06
sssp firstquartile_TEPS:        4.1943e+06
sssp median_TEPS:               4.1943e+06
sssp thirdquartile_TEPS:        4.1943e+06
sssp max_TEPS:                  4.1943e+06
sssp harmonic_mean_TEPS:     !  4.1943e+06
sssp harmonic_stddev_TEPS:      0
bfs  min_validate:              2
bfs  firstquartile_validate:    2
bfs  median_validate:           2
bfs  thirdquartile_validate:    2
bfs  max_validate:              2
bfs  mean_validate:             2
bfs  stddev_validate:           0
small_component_roots:          0
bfs  without_small_mean_TEPS:   1.11848e+07
sssp without_small_mean_TEPS:   4.1943e+06
sssp weight_type:               float32
)");
}

TEST(graph500_result, small_components_have_a_mean_without_them) {
  graph500_result result{.scale = 10,
                         .edge_factor = 1,
                         .generation_seconds = 0,
                         .construction_seconds = 0,
                         .ranks = 1,
                         .input_edges = 1000,
                         .edges = {900, 1, 9, 10},
                         .kernels = {{.kernel = "bfs", .seconds = {1, 1, 1, 1}}}};
  EXPECT_EQ(in_small_components(result), (std::vector<bool>{false, true, true, false})) << "1 % is not below 1 %";
  const std::vector<double> edges{900, 10}, seconds{1, 1};
  EXPECT_EQ(harmonic_mean_without_small(result, result.kernels[0]), rates_of(edges, seconds).harmonic_mean);
  EXPECT_NE(to_text(result).find("small_component_roots:          2\n"), std::string::npos);
  result.edges = {1, 1, 1, 1};
  EXPECT_EQ(harmonic_mean_without_small(result, result.kernels[0]), std::nullopt);
  EXPECT_NE(to_text(result).find("bfs  without_small_mean_TEPS:   none\n"), std::string::npos);
}

}  // namespace
}  // namespace amity::apps::graph
