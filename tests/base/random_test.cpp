#include "amity/base/random.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace amity {
namespace {

TEST(splitmix64, gives_the_published_numbers) {
  // The first outputs of the authors' reference code for the seed 1234567.
  splitmix64 numbers(1234567);
  EXPECT_EQ(numbers(), 6457827717110365317u);
  EXPECT_EQ(numbers(), 3203168211198807973u);
  EXPECT_EQ(numbers(), 9817491932198370423u);
}

TEST(splitmix64, stays_below_the_bound_and_reaches_all_of_it) {
  splitmix64 numbers(1);
  std::array<int, 10> seen{};
  for (int i = 0; i < 10000; ++i) ++seen.at(numbers.below(10));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(numbers.below(1), 0u);
}

TEST(splitmix64, mix_loses_nothing) {
  std::set<std::uint64_t> images;
  for (std::uint64_t key = 0; key < 1000; ++key) images.insert(splitmix64::mix(key));
  EXPECT_EQ(images.size(), 1000u);
}

}  // namespace
}  // namespace amity
