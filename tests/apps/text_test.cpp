#include "apps/graph/console/text.hpp"

#include <gtest/gtest.h>

namespace amity::apps::graph {
namespace {

TEST(text, counts) {
  EXPECT_EQ(counted(1, "vertex"), "1 vertex");
  EXPECT_EQ(counted(2000, "vertex"), "2,000 vertices");
  EXPECT_EQ(counted(0, "edge"), "0 edges");
}

TEST(text, scales_to_three_digits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1234), "1.23 kB");
  EXPECT_EQ(bytes_text(999999), "1.00 MB");
  EXPECT_EQ(bytes_text(1000000), "1 MB");
  EXPECT_EQ(duration_text(45'600'000), "45.6 ms");
  EXPECT_EQ(duration_text(7'890'000'000), "7.89 s");
  EXPECT_EQ(duration_text(100'000'000'000'000), "100000 s");
  EXPECT_EQ(rate_text(155e6), "155 M");
}

TEST(text, bars_show_what_is_not_nothing) {
  EXPECT_EQ(bar(0, 10), "");
  EXPECT_EQ(bar(0.001, 10), "#");
  EXPECT_EQ(bar(0.5, 10), "#####");
  EXPECT_EQ(bar(1, 10), "##########");
}

}  // namespace
}  // namespace amity::apps::graph
