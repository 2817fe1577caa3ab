#include "apps/graph/input/lengths.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

edge_list chain(vertex edges) {
  edge_list graph;
  graph.names = labels::numbered(edges + 1, 0);
  for (vertex v = 0; v < edges; ++v) graph.edges.push_back({v, v + 1, 5});
  return graph;
}

std::string set(edge_list& graph, const std::string& choice, std::uint64_t seed = 1) {
  progress quiet(progress::style::off);
  return set_lengths(graph, choice, seed, quiet);
}

TEST(lengths, of_the_input_stay_if_there_are_any) {
  edge_list graph = chain(2);
  graph.has_lengths = true;
  EXPECT_EQ(set(graph, "input"), "from the input");
  EXPECT_EQ(graph.edges[1].length, 5);
  graph.has_lengths = false;
  EXPECT_EQ(set(graph, "input"), "uniform in [0, 1), seed 1");
  EXPECT_NE(graph.edges[1].length, 5);
}

TEST(lengths, unit) {
  edge_list graph = chain(3);
  graph.unit = "MB";
  EXPECT_EQ(set(graph, "unit"), "1 each");
  EXPECT_EQ(graph.edges[2].length, 1);
  EXPECT_EQ(graph.unit, "") << "what was measured in MB is so no more";
}

TEST(lengths, random_ones_follow_from_the_seed) {
  edge_list first = chain(1000), again = chain(1000), other = chain(1000);
  set(first, "uniform", 7);
  set(again, "uniform", 7);
  set(other, "uniform", 8);
  int same = 0;
  double sum = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(first.edges[i].length, again.edges[i].length);
    ASSERT_GE(first.edges[i].length, 0);
    ASSERT_LT(first.edges[i].length, 1);
    same += first.edges[i].length == other.edges[i].length;
    sum += static_cast<double>(first.edges[i].length);
  }
  EXPECT_LT(same, 5);
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(lengths, integers_are_whole_and_small) {
  edge_list graph = chain(5000);
  set(graph, "integer");
  std::set<float> seen;
  for (const edge& e : graph.edges) {
    ASSERT_EQ(e.length, std::floor(e.length));
    seen.insert(e.length);
  }
  EXPECT_EQ(*seen.begin(), 1);
  EXPECT_EQ(*seen.rbegin(), 255);
}

TEST(lengths, from_a_file_of_floats) {
  scratch files;
  edge_list graph = chain(2);
  const auto file = files.write("a.weights", bytes_of(0.25f) + bytes_of(3.0f));
  EXPECT_EQ(set(graph, file.string()), "from " + file.string());
  EXPECT_EQ(edges_text(graph), "0>1:0.25 1>2:3");
}

TEST(lengths, of_a_file_that_is_longer_than_a_block) {
  scratch files;
  constexpr vertex edges = 30000;
  std::string floats;
  for (vertex v = 0; v < edges; ++v) floats += bytes_of(static_cast<float>(v));
  edge_list graph = chain(edges);
  set(graph, files.write("a.weights", floats).string());
  for (const edge& e : graph.edges) ASSERT_EQ(e.length, static_cast<float>(e.source));
}

TEST(lengths, a_file_must_fit_and_be_usable) {
  scratch files;
  edge_list graph = chain(2);
  const auto short_file = files.write("short", bytes_of(0.25f));
  EXPECT_EQ(error_of([&] { set(graph, short_file.string()); }),
            "amity: short: 4 bytes, where 2 edges want 8; write one float32 for each edge, in the order of the edges");
  const auto long_file = files.write("long", std::string(12, '\0'));
  EXPECT_EQ(error_of([&] { set(graph, long_file.string()); }).substr(0, 37), "amity: long: 12 bytes, where 2 edges ");
  const auto negative = files.write("negative", bytes_of(1.0f) + bytes_of(-1.0f));
  EXPECT_EQ(
      error_of([&] { set(graph, negative.string()); }),
      "amity: negative: byte 4: length -1 is negative; shortest paths want lengths that are finite and at least 0");
  const auto nan = files.write("nan", bytes_of(std::nanf("")) + bytes_of(1.0f));
  EXPECT_EQ(error_of([&] { set(graph, nan.string()); }).substr(0, 44), "amity: nan: byte 0: length nan is not a numb");
  EXPECT_EQ(error_of([&] { set(graph, "no-such-file"); }).substr(0, 34), "amity: no-such-file: No such file ");
}

}  // namespace
}  // namespace amity::apps::graph::tests
