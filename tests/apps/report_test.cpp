#include "apps/graph/console/report.hpp"

#include <gtest/gtest.h>

namespace amity::apps::graph {
namespace {

report small_report() {
  report result("A kernel over a small graph");
  result.add("vertices", 1234, "vertices", "1,234");
  result.add("hidden", true);
  result.add_cost({.ns = 2000, .messages = 30, .packets = 4, .bytes = 240}, 3, false);
  result.add_text("  one more\n  paragraph\n");
  return result;
}

TEST(report, for_a_person) {
  EXPECT_EQ(small_report().to_text(), R"(
A kernel over a small graph
  vertices              1,234
  time                  2 us, median of 3
  messages              30
  bytes                 240 B
  messages per packet   7.5

  one more
  paragraph
)");
}

TEST(report, for_a_program) {
  const auto json = nlohmann::ordered_json::parse(small_report().to_json());
  EXPECT_EQ(json["vertices"], 1234);
  EXPECT_EQ(json["hidden"], true);
  EXPECT_DOUBLE_EQ(json["seconds"].get<double>(), 2e-6);
  EXPECT_EQ(json["messages_per_packet"], 7.5);
  EXPECT_EQ(json["repeats"], 3);
  EXPECT_EQ(json["virtual_time"], false);
}

TEST(report, labels_that_are_no_text_do_not_break_it) {
  report result("x");
  result.add("label", std::string("\xff"));
  EXPECT_NO_THROW(nlohmann::json::parse(result.to_json()));
}

}  // namespace
}  // namespace amity::apps::graph
