#include "apps/graph/input/labels.hpp"

#include <gtest/gtest.h>

namespace amity::apps::graph {
namespace {

std::vector<std::string> nearest(const labels& names, std::string_view wanted, std::size_t count) {
  std::vector<std::string> texts;
  for (const auto& each : names.nearest(wanted, count)) texts.push_back(names.text(each.meant));
  return texts;
}

TEST(labels, number_in_the_order_of_first_sight) {
  labels names;
  EXPECT_EQ(names.intern("b"), 0u);
  EXPECT_EQ(names.intern("a"), 1u);
  EXPECT_EQ(names.intern("b"), 0u);
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(names.text(1), "a");
  EXPECT_EQ(names.find("a"), 1u);
  EXPECT_EQ(names.find("c"), std::nullopt);
}

TEST(labels, stay_apart_when_there_are_many) {
  labels names;
  for (int round = 0; round < 2; ++round) {
    for (vertex v = 0; v < 50000; ++v) ASSERT_EQ(names.intern("vertex-" + std::to_string(v * 7)), v);
  }
  EXPECT_EQ(names.find("vertex-349993"), 49999u);
}

TEST(labels, numbers_and_texts_are_the_same_labels) {
  labels names;
  EXPECT_EQ(names.intern("1000000", 1000000), 0u);  // too large for the short cut while there are few
  for (std::uint64_t n = 0; n < 200000; ++n) names.intern(std::to_string(n), n);
  EXPECT_EQ(names.intern("1000000", 1000000), 0u);
  EXPECT_EQ(names.intern("1000000", 1000000), 0u);
  EXPECT_EQ(names.intern("17"), names.intern("17", 17));
  EXPECT_EQ(names.size(), 200001u);
}

TEST(labels, numbered_ones_need_no_texts) {
  const labels names = labels::numbered(10, 1);
  EXPECT_EQ(names.size(), 10u);
  EXPECT_EQ(names.text(0), "1");
  EXPECT_EQ(names.find("10"), 9u);
  for (const char* absent : {"0", "11", "-1", "1x", "", "99999999999999999999999"}) {
    EXPECT_EQ(names.find(absent), std::nullopt) << absent;
  }
  EXPECT_EQ(nearest(names, "44", 3), (std::vector<std::string>{"1", "10"}));
}

TEST(labels, nearest_prefers_what_was_probably_meant) {
  labels names;
  for (const char* name : {"gnome-core", "gnome", "gnote", "kde-full", "libc6", "zlib1g"}) names.intern(name);
  EXPECT_EQ(nearest(names, "gnoem", 1), std::vector<std::string>{"gnome"});
  EXPECT_EQ(nearest(names, "gnome-", 1), std::vector<std::string>{"gnome"});
  EXPECT_EQ(nearest(names, "kde", 1), std::vector<std::string>{"kde-full"});
  EXPECT_TRUE(nearest(labels(), "x", 3).empty());
}

}  // namespace
}  // namespace amity::apps::graph
