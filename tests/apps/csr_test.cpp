#include "apps/graph/store/csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "apps/graph/kernels/bitmap.hpp"
#include "apps/graph/kernels/bucket_ring.hpp"

namespace amity::apps::graph {
namespace {

TEST(csr, rows_keep_the_order_of_the_arcs) {
  const csr<arc> rows(4, [](auto visit) {
    visit(2, {0, 1.5f});
    visit(0, {1, 2});
    visit(2, {3, 0.5f});
    visit(2, {0, 4});
  });
  EXPECT_EQ(rows.rows(), 4u);
  EXPECT_EQ(rows.arcs().size(), 4u);
  EXPECT_EQ(rows.degree(1), 0u);
  EXPECT_TRUE(rows[3].empty());
  ASSERT_EQ(rows.degree(2), 3u);
  EXPECT_EQ(rows[2][0].length, 1.5f);
  EXPECT_EQ(rows[2][1].target, 3u);
  EXPECT_EQ(rows[2][2].length, 4);
  EXPECT_EQ(rows[0][0].target, 1u);
}

TEST(csr, may_be_large) {
  constexpr vertex n = 1 << 20;  // in large pages
  const csr<vertex> rows(n, [](auto visit) {
    for (vertex v = 0; v < n; ++v) visit(v, n - 1 - v);
  });
  for (vertex v = 0; v < n; v += 997) ASSERT_EQ(rows[v][0], n - 1 - v);
  EXPECT_EQ(csr<vertex>().rows(), 0u);
}

TEST(bitmap, tells_what_is_new) {
  bitmap seen(130);
  for (const std::size_t bit : {0, 63, 64, 129}) {
    EXPECT_TRUE(seen.insert(bit));
    EXPECT_FALSE(seen.insert(bit));
  }
  EXPECT_TRUE(seen.insert(1));
}

std::vector<vertex> rows_of(const std::vector<bucket_ring<float>::entry>& bucket) {
  std::vector<vertex> rows;
  for (const auto& entry : bucket) rows.push_back(entry.row);
  return rows;
}

TEST(bucket_ring, sorts_by_width_and_goes_round) {
  bucket_ring<float> open(0.5, 2);
  open.push(1, 0);
  open.push(2, 0.49f);
  open.push(3, 1.2f);
  EXPECT_EQ(rows_of(open.current()), (std::vector<vertex>{1, 2}));
  open.current().clear();
  EXPECT_EQ(open.next(), 2u);
  open.advance_to(2);
  EXPECT_EQ(rows_of(open.current()), std::vector<vertex>{3});
  open.current().clear();
  open.push(4, 3.2f);  // as far ahead as the longest edge goes
  EXPECT_EQ(open.next(), 6u);
  open.advance_to(6);
  EXPECT_EQ(rows_of(open.current()), std::vector<vertex>{4});
  open.current().clear();
  EXPECT_EQ(open.next(), no_bucket);
}

TEST(bucket_ring, a_tiny_width_takes_bounded_memory_and_loses_nothing) {
  bucket_ring<float> open(1e-12, 1);
  open.push(1, 1);
  open.push(2, 1e-6f);
  EXPECT_LT(open.next(), bucket_ring<float>::buckets_max);
  open.advance_to(open.next());
  EXPECT_EQ(rows_of(open.current()), (std::vector<vertex>{2}));
  open.current().clear();
  open.advance_to(open.next());
  EXPECT_EQ(rows_of(open.current()), (std::vector<vertex>{1}));
}

TEST(bucket_ring, takes_what_rounding_puts_too_far_ahead) {
  bucket_ring<float> open(1, 1);
  open.push(7, 100);
  EXPECT_NE(open.next(), no_bucket);
  EXPECT_LE(open.next(), 100u) << "early is harmless, late is not";
}

}  // namespace
}  // namespace amity::apps::graph
