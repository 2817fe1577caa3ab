#include "amity/base/rank_map.hpp"

#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"

namespace amity {
namespace {

TEST(rank_map, knows_nobody_at_first) {
  const rank_map<int> nobody;
  EXPECT_EQ(nobody.find(0), nullptr);
  EXPECT_EQ(nobody.size(), 0u);
}

TEST(rank_map, does_what_an_ordered_map_does) {
  splitmix64 random(5);
  rank_map<std::uint64_t> tested;
  std::map<rank_t, std::uint64_t> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto rank = static_cast<rank_t>(random.below(500));
    if (step % 1000 == 999) {
      const auto odd = [](std::uint64_t value) { return value % 2 == 1; };
      tested.erase_if(odd);
      std::erase_if(model, [&](const auto& each) { return odd(each.second); });
    } else if (random.below(2) == 0) {
      const std::uint64_t added = random.below(10);
      tested[rank] += added;
      model[rank] += added;
    }
    const auto known = model.find(rank);
    const std::uint64_t* const found = tested.find(rank);
    ASSERT_EQ(found != nullptr, known != model.end()) << rank;
    if (found != nullptr) {
      ASSERT_EQ(*found, known->second) << rank;
    }
    ASSERT_EQ(tested.size(), model.size());
  }
}

TEST(rank_map, a_new_value_is_zero) {
  rank_map<std::uint64_t> counts;
  for (rank_t rank = 0; rank < 100; ++rank) EXPECT_EQ(counts[rank], 0u);
  for (rank_t rank = 0; rank < 100; ++rank) counts[rank] = 1;
  counts.erase_if([](std::uint64_t) { return true; });
  for (rank_t rank = 0; rank < 100; ++rank) EXPECT_EQ(counts[rank], 0u) << rank;
}

TEST(rank_map, grows_only_when_it_says_that_it_is_full) {
  rank_map<std::uint64_t> map;
  for (rank_t rank = 0; rank < 1000; ++rank) {
    const bool full = map.full();
    const std::uint64_t* const before = map.find(0);
    map[rank] = 1;
    if (rank > 0 && !full) {
      EXPECT_EQ(map.find(0), before) << rank;
    }
  }
}

TEST(rank_map, has_room_for_as_many_as_were_looked_at_when_some_are_erased) {
  rank_map<int> map;
  // Every hundredth stays.
  for (rank_t rank = 0; rank < 50'000; ++rank) {
    if (map.full()) {
      map.erase_if([](int value) { return value % 100 != 0; });
      for (std::size_t room = map.size(); room > 0; --room, ++rank) {
        EXPECT_FALSE(map.full());
        map[rank] = rank;
      }
    }
    map[rank] = rank;
  }
  EXPECT_LT(map.size(), 2000u);
  for (rank_t rank = 0; rank < 50'000; rank += 100) ASSERT_NE(map.find(rank), nullptr) << rank;
}

}  // namespace
}  // namespace amity
