#include "bench/report.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

row latency(double value) {
  return {.bench = "latency", .config = "8 B", .metric = "one-way time", .unit = "ns", .value = {value, value, value}};
}

TEST(Statistics, MedianAndQuartilesDoNotDependOnOrder) {
  const auto five = summarise({50, 10, 40, 20, 30});
  EXPECT_EQ(five.median, 30);
  EXPECT_EQ(five.low, 20);
  EXPECT_EQ(five.high, 40);
}

TEST(Statistics, QuantilesLieBetweenTheValuesOfAnEvenNumber) {
  const auto two = summarise({1, 3});
  EXPECT_EQ(two.median, 2);
  EXPECT_EQ(two.low, 1.5);
  EXPECT_EQ(two.high, 2.5);
}

TEST(Statistics, OnePreemptedBatchDoesNotCount) {
  int batch = 0;
  EXPECT_EQ(median_of(5, [&] { return batch++ == 2 ? 1e9 : 7.0; }), 7);
}

TEST(Report, ABoundOnTheValueIsMetOrNot) {
  EXPECT_EQ(at_most(170).met(latency(170)), true);
  EXPECT_EQ(at_most(170).met(latency(171)), false);
  EXPECT_EQ(at_least(30).met(latency(29)), false);
}

TEST(Report, ABoundOnARatioNeedsThePeerOrTheLimit) {
  auto result = latency(100);
  EXPECT_EQ(ratio_at_most(0.7).met(result), std::nullopt);
  EXPECT_EQ(limit_at_least(0.75).met(result), std::nullopt);
  result.peer = comparison{"peer", 200, 0.5};
  result.limit = comparison{"limit", 200, 0.5};
  EXPECT_EQ(ratio_at_most(0.7).met(result), true);
  EXPECT_EQ(limit_at_least(0.75).met(result), false);
}

TEST(Report, JsonHasTheKeysOfPeerAndLimitOnlyWhereThereAreThese) {
  auto with_both = latency(100);
  with_both.peer = comparison{"Open MPI", 200, 0.5};
  with_both.limit = comparison{"one line", 80, 1.25};
  with_both.wanted = {at_most(170), ratio_at_most(0.4)};
  const std::vector<row> rows{latency(100), with_both};
  const auto json = to_json(rows);
  ASSERT_EQ(json.size(), 2u);

  EXPECT_EQ(json[0]["bench"], "latency");
  EXPECT_EQ(json[0]["config"], "8 B");
  EXPECT_EQ(json[0]["metric"], "one-way time");
  EXPECT_EQ(json[0]["unit"], "ns");
  EXPECT_EQ(json[0]["value"], 100);
  for (const auto* key : {"peer", "peer_value", "ratio", "limit", "limit_value", "asked", "met"}) {
    EXPECT_FALSE(json[0].contains(key)) << key;
  }

  EXPECT_EQ(json[1]["peer"], "Open MPI");
  EXPECT_EQ(json[1]["peer_value"], 200);
  EXPECT_EQ(json[1]["ratio"], 0.5);
  EXPECT_EQ(json[1]["limit"], "one line");
  EXPECT_EQ(json[1]["limit_value"], 80);
  EXPECT_EQ(json[1]["asked"], "<= 170 ns; ratio <= 0.4");
  EXPECT_EQ(json[1]["met"], false);
}

TEST(Report, ColumnsOfTheTableAreAligned) {
  auto long_config = latency(12345);
  long_config.config = "a much longer configuration";
  long_config.wanted = {at_most(170)};
  const std::vector<row> rows{latency(1), long_config};
  const auto table = to_table(rows);
  const auto second = table.find('\n') + 1;
  const auto third = table.find('\n', second) + 1;
  EXPECT_EQ(table.find("one-way", second) - second, table.find("one-way", third) - third);
  EXPECT_NE(table.find("<= 170 ns (SHORT)"), std::string::npos);
}

TEST(Report, AColumnThatNoRowUsesIsLeftOut) {
  const std::vector<row> rows{latency(1)};
  EXPECT_EQ(to_table(rows).find("peer"), std::string::npos);
}

}  // namespace
}  // namespace amity::bench
