/// The parts of the simulator that keep it small: who is next, which peers are known, where packets lie.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "amity/base/random.hpp"
#include "amity/fabric/sim/parcels.hpp"
#include "amity/fabric/sim/peers.hpp"
#include "amity/fabric/sim/schedule.hpp"
#include "payloads.hpp"

namespace amity::fabric::sim {
namespace {

TEST(sim_schedule, is_a_queue_by_time_and_rank_whose_times_move_forward) {
  constexpr rank_t ranks = 100;
  schedule tested(ranks);
  std::set<std::pair<std::uint64_t, rank_t>> model;
  std::vector<std::uint64_t> times(ranks, never);
  splitmix64 random(1);
  EXPECT_EQ(tested.earliest(), never);
  for (int step = 0; step < 20'000; ++step) {
    EXPECT_EQ(tested.empty(), model.empty());
    if (!model.empty() && random.below(2) == 0) {
      const auto [time, rank] = *model.begin();
      EXPECT_EQ(tested.earliest(), time);
      EXPECT_EQ(tested.pop(), rank);
      model.erase(model.begin());
      times[static_cast<std::size_t>(rank)] = never;
    } else {
      const auto rank = static_cast<rank_t>(random.below(ranks));
      std::uint64_t& known = times[static_cast<std::size_t>(rank)];
      const std::uint64_t time = random.below(std::min<std::uint64_t>(known, 1000) + 1);
      model.erase({known, rank});
      model.emplace(time, rank);
      known = time;
      tested.wake(rank, time);
    }
  }
}

TEST(sim_peers, have_a_fresh_record_whoever_had_it_before) {
  peer_pool pool;
  const peer_id first = pool.open(3);
  pool[first].in_flight = 7;
  const peer_id other = pool.open(4);
  EXPECT_NE(other, first);
  pool.close(first);
  const peer_id second = pool.open(5);
  EXPECT_EQ(second, first);
  EXPECT_EQ(pool[second].rank, 5);
  EXPECT_EQ(pool[second].in_flight, 0u);
  EXPECT_EQ(pool[other].rank, 4);
}

TEST(sim_parcels, are_used_again_under_another_token) {
  parcel_pool pool(4160);
  const parcel_id first = pool.open(10);
  const std::uint32_t generation = pool[first].generation;
  pool.drop_payload(pool[first]);
  pool.close(first);
  const parcel_id second = pool.open(4160);
  EXPECT_EQ(second, first);
  EXPECT_NE(pool[second].generation, generation);
  EXPECT_TRUE(pool.contains(second));
  EXPECT_FALSE(pool.contains(1'000'000));
  pool.drop_payload(pool[second]);
  pool.close(second);
}

TEST(sim_parcels, take_memory_for_the_bytes_in_flight) {
  parcel_pool pool(4160);
  for (const std::size_t bytes : {0, 1, 64, 65, 500, 1040, 1041, 4160}) {
    const parcel_id id = pool.open(4160);
    parcel& p = pool[id];
    testing::fill({p.payload, bytes}, bytes);
    p.bytes = static_cast<std::uint32_t>(bytes);
    pool.fit(p);
    EXPECT_TRUE(testing::is_payload({p.payload, bytes}, bytes)) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.payload) % cache_line_bytes, 0u) << bytes;
    const std::size_t buffer = p.size_class == 0 ? 64 : std::min<std::size_t>(64u << p.size_class, 4160);
    EXPECT_GE(buffer, bytes);
    EXPECT_LE(buffer, std::max<std::size_t>(4 * bytes, 64)) << bytes;
    pool.drop_payload(p);
    pool.close(id);
  }
}

}  // namespace
}  // namespace amity::fabric::sim
