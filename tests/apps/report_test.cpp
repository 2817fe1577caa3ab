#include "apps/graph/command/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/graph/verify/sequential.hpp"

namespace amity::apps::graph {
namespace {

/// a -> b -> c -> d, a -> c, and x alone.
whole_graph small_graph() {
  whole_graph graph;
  graph.about.title = "a small graph";
  for (const char* name : {"a", "b", "c", "d", "x"}) graph.about.names.intern(name);
  graph.rows = csr<arc>(5, [](auto visit) {
    visit(0, {1, 0.5f});
    visit(1, {2, 0.5f});
    visit(2, {3, 10});
    visit(0, {2, 2});
  });
  graph.edges = 4;
  graph.lengths = "from the input";
  return graph;
}

report small_report() {
  const whole_graph graph = small_graph();
  report result = summarise(graph, sequential_bfs(graph.rows, graph.root), 2);
  result.ranks = 2;
  result.fabric = "shm";
  result.rounds = 3;
  result.spent = {2000, 30, 4, 240};
  result.verified = true;
  return result;
}

TEST(report, of_a_breadth_first_search_for_a_person) {
  EXPECT_EQ(to_text(small_report()), R"(
Breadth-first search from a over a small graph
  ranks                 2 on fabric shm
  vertices              5
  edges                 4
  reached               4 (80.0 %)
  levels                3
  seconds               0.000002
  edges/s               2 M
  messages              30
  bytes                 240 B
  messages per packet   7.5
  checked               equal to the sequential answer

      level   vertices
          0          1  ####################
          1          2  ########################################
          2          1  ####################

  farthest vertices, with a shortest path to each
          2  d
             a -> c -> d
          1  b
             a -> b
)");
}

TEST(report, of_shortest_paths) {
  const whole_graph graph = small_graph();
  report result = summarise(graph, sequential_sssp(graph.rows, graph.root), 1);
  result.unit = "MB";
  ASSERT_EQ(result.farthest.size(), 1u);
  EXPECT_EQ(result.farthest[0].distance, 11);
  EXPECT_EQ(result.farthest[0].labels, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(result.histogram.size(), 12u);
  EXPECT_EQ(result.histogram[0].vertices, 2u);
  EXPECT_EQ(result.histogram[1].vertices, 1u);
  EXPECT_EQ(result.histogram[11].vertices, 1u);
  const std::string text = to_text(result);
  EXPECT_NE(text.find("lengths               from the input, in MB"), std::string::npos) << text;
  EXPECT_NE(text.find("      11 MB  d\n             a -> b -> c -> d\n"), std::string::npos) << text;
}

TEST(report, lopsided_lengths_get_bins_that_double) {
  whole_graph graph;
  graph.about.names = labels::numbered(102, 0);
  graph.rows = csr<arc>(102, [](auto visit) {
    for (vertex v = 1; v <= 100; ++v) visit(0, {v, 1});
    visit(0, {101, 4096});
  });
  const report result = summarise(graph, sequential_sssp(graph.rows, 0), 0);
  EXPECT_EQ(result.histogram[0].vertices, 101u);
  EXPECT_EQ(result.histogram[1].from, 2);
  EXPECT_EQ(result.histogram[11].from, 2048);
  EXPECT_EQ(result.histogram[11].vertices, 1u);
  EXPECT_TRUE(result.farthest.empty());
}

TEST(report, undirected_edges_are_walked_from_both_ends_but_count_once) {
  whole_graph graph;
  graph.about.undirected = true;
  graph.about.names = labels::numbered(2, 0);
  graph.edges = 1;
  graph.rows = csr<arc>(2, [](auto visit) {
    visit(0, {1, 1});
    visit(1, {0, 1});
  });
  EXPECT_EQ(summarise(graph, sequential_bfs(graph.rows, 0), 0).edges_walked, 1u);
}

TEST(report, long_chains_keep_their_ends) {
  whole_graph graph;
  graph.about.names = labels::numbered(100, 0);
  graph.rows = csr<arc>(100, [](auto visit) {
    for (vertex v = 0; v + 1 < 100; ++v) visit(v, {v + 1, 1});
  });
  const std::string text = to_text(summarise(graph, sequential_bfs(graph.rows, 0), 1));
  EXPECT_NE(text.find("10 -> 11 -> ... 76 more ... -> 88 -> 89"), std::string::npos) << text;
  EXPECT_NE(text.find("  and 60 more\n"), std::string::npos) << "the histogram is cut: " << text;
}

TEST(report, survives_a_wrong_answer_that_nobody_has_checked) {
  const whole_graph graph = small_graph();
  auto found = sequential_bfs(graph.rows, graph.root);
  found.parent[2] = 3;  // round and round
  found.parent[1] = 4;  // nowhere
  EXPECT_EQ(summarise(graph, found, 5).farthest.size(), 4u);
}

TEST(report, as_json) {
  const auto json = nlohmann::json::parse(to_json(small_report()));
  EXPECT_EQ(json["search"], "bfs");
  EXPECT_EQ(json["graph"], "a small graph");
  EXPECT_EQ(json["root"], "a");
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["fabric"], "shm");
  EXPECT_EQ(json["vertices"], 5);
  EXPECT_EQ(json["edges"], 4);
  EXPECT_EQ(json["reached"], 4);
  EXPECT_EQ(json["levels"], 3);
  EXPECT_DOUBLE_EQ(json["seconds"], 2e-6);
  EXPECT_EQ(json["edges_walked"], 4);
  EXPECT_DOUBLE_EQ(json["edges_per_second"], 2e6);
  EXPECT_EQ(json["messages"], 30);
  EXPECT_EQ(json["packets"], 4);
  EXPECT_EQ(json["bytes"], 240);
  EXPECT_EQ(json["messages_per_packet"], 7.5);
  EXPECT_EQ(json["verified"], true);
  EXPECT_EQ(json["histogram"][1], (nlohmann::json{{"from", 1.0}, {"vertices", 2}}));
  EXPECT_EQ(json["farthest"][0], (nlohmann::json{{"label", "d"}, {"distance", 2.0}, {"path", {"a", "c", "d"}}}));
}

TEST(report, json_survives_labels_that_are_no_utf8) {
  report result = small_report();
  result.root = "caf\xe9";
  EXPECT_NO_THROW(EXPECT_FALSE(nlohmann::json::parse(to_json(result)).empty()));
}

}  // namespace
}  // namespace amity::apps::graph
