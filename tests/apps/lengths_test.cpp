#include "apps/graph/input/lengths.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "scratch.hpp"
#include "tests/support/programs.hpp"

namespace amity::apps::graph::tests {
namespace {

/// As a rank has it that is alone.
graph_share chain(vertex edges) {
  graph_share graph;
  graph.vertices = edges + 1;
  graph.edges = edges;
  graph.runs = {{0, 0}};
  for (vertex v = 0; v < edges; ++v) {
    graph.mine.push_back({v, v + 1});
    graph.weights.add(std::int64_t{5});
  }
  return graph;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// The description, or the error.
std::string set(graph_share& graph, const std::string& choice, std::uint64_t seed = 1, const weight_rules& rules = {}) {
  std::string said;
  amity::testing::run_job(amity::testing::shape("sim", 1, 1), [&](world& w) {
    progress quiet(progress::style::off);
    const std::string failed = error_of([&] { said = set_lengths(w, graph, choice, seed, quiet, rules); });
    if (failed != "no error") said = failed;
  });
  return said;
}

TEST(lengths, of_the_input_stay_if_there_are_any) {
  graph_share graph = chain(2);
  graph.has_lengths = true;
  EXPECT_EQ(set(graph, "input"), "from the input");
  EXPECT_EQ(graph.type, weight_type::int64);
  EXPECT_EQ(graph.weights.at<std::int64_t>(1), 5);
  graph.weights.add(0.5);
  EXPECT_EQ(set(graph, "input"), "from the input");
  EXPECT_EQ(graph.type, weight_type::float64);
  EXPECT_EQ(graph.weights.at<double>(1), 5);
}

TEST(lengths, input_without_weights_has_unit_weights) {
  graph_share graph = chain(2);
  graph.has_lengths = false;
  EXPECT_EQ(set(graph, "input"), "1 each, as the input has none");
  EXPECT_EQ(graph.type, weight_type::int64);
  EXPECT_TRUE(graph.weights.empty()) << "they take no memory";
}

TEST(lengths, unit) {
  graph_share graph = chain(3);
  graph.unit = "MB";
  EXPECT_EQ(set(graph, "unit"), "1 each");
  EXPECT_TRUE(graph.weights.empty());
  EXPECT_EQ(graph.unit, "") << "what was measured in MB is so no more";
}

TEST(lengths, type_is_that_of_the_rules) {
  using enum weight_type;
  for (const weight_type type : {int64, float64, float32}) {
    graph_share graph = chain(3);
    EXPECT_EQ(set(graph, "integer", 1, {.type = type}), "integers from 1 to 255, seed 1");
    EXPECT_EQ(graph.type, type);
    EXPECT_EQ(graph.weights.is_real(), type != int64);
  }
  graph_share graph = chain(3);
  EXPECT_PRED2(contains, set(graph, "uniform", 1, {.type = int64}), "are not integers");
  EXPECT_EQ(set(graph, "unit", 1, {.any_sign = true}), "1 each");
  EXPECT_EQ(graph.type, float64) << "entries of a matrix";
  graph.has_lengths = true;
  graph.weights.add(0.5);
  EXPECT_PRED2(contains, set(graph, "input", 1, {.type = int64}), "are not integers");
}

TEST(lengths, random_ones_follow_from_the_seed) {
  graph_share first = chain(1000), again = chain(1000), other = chain(1000);
  set(first, "uniform", 7);
  set(again, "uniform", 7);
  set(other, "uniform", 8);
  EXPECT_EQ(first.type, weight_type::float64);
  int same = 0;
  double sum = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const double weight = first.weights.at<double>(i);
    ASSERT_EQ(weight, again.weights.at<double>(i));
    ASSERT_GE(weight, 0);
    ASSERT_LT(weight, 1);
    same += weight == other.weights.at<double>(i);
    sum += weight;
  }
  EXPECT_LT(same, 5);
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(lengths, integers_are_whole_and_small) {
  graph_share graph = chain(5000);
  set(graph, "integer");
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < graph.mine.size(); ++i) seen.insert(graph.weights.at<std::int64_t>(i));
  EXPECT_EQ(*seen.begin(), 1);
  EXPECT_EQ(*seen.rbegin(), 255);
}

TEST(lengths, from_a_file_of_floats) {
  scratch files;
  graph_share graph = chain(2);
  const auto file = files.write("a.weights", bytes_of(0.25f) + bytes_of(3.0f));
  EXPECT_EQ(set(graph, file.string()), "from " + file.string());
  EXPECT_EQ(graph.weights.at<double>(0), 0.25);
  EXPECT_EQ(graph.weights.at<double>(1), 3);
}

TEST(lengths, of_a_file_that_is_longer_than_a_block) {
  scratch files;
  constexpr vertex edges = 30000;
  std::string floats;
  for (vertex v = 0; v < edges; ++v) floats += bytes_of(static_cast<float>(v));
  graph_share graph = chain(edges);
  set(graph, files.write("a.weights", floats).string());
  for (vertex v = 0; v < edges; ++v) ASSERT_EQ(graph.weights.at<double>(v), v);
}

TEST(lengths, a_file_must_fit_and_be_usable) {
  scratch files;
  graph_share graph = chain(2);
  const auto short_file = files.write("short", bytes_of(0.25f));
  EXPECT_EQ(set(graph, short_file.string()),
            "amity: short: 4 bytes, where 2 edges want 8; write one float32 for each edge, in the order of the edges");
  const auto long_file = files.write("long", std::string(12, '\0'));
  EXPECT_EQ(set(graph, long_file.string()).substr(0, 37), "amity: long: 12 bytes, where 2 edges ");
  const auto negative = files.write("negative", bytes_of(1.0f) + bytes_of(-1.0f));
  EXPECT_EQ(
      set(graph, negative.string()),
      "amity: negative: byte 4: length -1 is negative; shortest paths need weights that are finite and not negative");
  const auto nan = files.write("nan", bytes_of(std::nanf("")) + bytes_of(1.0f));
  EXPECT_EQ(set(graph, nan.string()).substr(0, 44), "amity: nan: byte 0: length nan is not a numb");
  EXPECT_PRED2(
      contains,
      set(graph, files.write("fraction", bytes_of(1.0f) + bytes_of(1.5f)).string(), 1, {.type = weight_type::int64}),
      "fraction: byte 4: length 1.5 is not an integer");
  EXPECT_EQ(set(graph, "no-such-file").substr(0, 34), "amity: no-such-file: No such file ");
}

}  // namespace
}  // namespace amity::apps::graph::tests
