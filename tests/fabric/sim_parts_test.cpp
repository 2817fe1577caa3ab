/// The parts of the simulator that keep it small: who is next, which credits are back, where packets lie.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "amity/base/random.hpp"
#include "amity/fabric/sim/credits.hpp"
#include "amity/fabric/sim/parcels.hpp"
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

TEST(sim_credits, come_back_at_their_times) {
  credits own(4);
  EXPECT_TRUE(own.take(3, claim::ordinary, 0));
  EXPECT_TRUE(own.take(3, claim::ordinary, 0));
  EXPECT_FALSE(own.take(3, claim::ordinary, 0));
  EXPECT_TRUE(own.take(4, claim::ordinary, 0)) << "each peer has credits of its own";
  EXPECT_EQ(own.refused(), std::vector<rank_t>{3});
  EXPECT_EQ(own.next_ns(3), never);
  EXPECT_FALSE(own.come_back(4, 5)) << "nobody waits for it";
  EXPECT_TRUE(own.come_back(3, 10));
  EXPECT_TRUE(own.come_back(3, 20));
  EXPECT_EQ(own.next_ns(3), 10u);
  EXPECT_FALSE(own.take(3, claim::ordinary, 9));
  EXPECT_TRUE(own.take(3, claim::ordinary, 10));
  EXPECT_TRUE(own.refused().empty());
  EXPECT_FALSE(own.take(3, claim::ordinary, 10));
  EXPECT_EQ(own.next_ns(3), 20u);
  EXPECT_FALSE(own.take(3, claim::ordinary, 19));
  EXPECT_TRUE(own.take(3, claim::ordinary, 20));
}

TEST(sim_credits, are_waited_for_until_there_is_one) {
  credits own(3);
  for (const rank_t peer : {5, 6}) {
    EXPECT_TRUE(own.take(peer, claim::ordinary, 0));
    EXPECT_FALSE(own.take(peer, claim::ordinary, 0));
    EXPECT_FALSE(own.take(peer, claim::ordinary, 0)) << "once more, and it waits once all the same";
  }
  EXPECT_EQ(own.refused(), (std::vector<rank_t>{5, 6}));
  own.come_back(6, 30);
  own.come_back(5, 40);
  EXPECT_EQ(own.forget_refusals(30), 40u);
  EXPECT_EQ(own.refused(), std::vector<rank_t>{5});
  EXPECT_EQ(own.forget_refusals(40), never);
  EXPECT_TRUE(own.refused().empty());
  EXPECT_TRUE(own.take(5, claim::ordinary, 40));
}

TEST(sim_credits, refused_claim_waits_for_its_own_credit) {
  credits own(4);
  for (const claim of : {claim::ordinary, claim::ordinary, claim::no_epoch, claim::answer}) {
    EXPECT_TRUE(own.take(3, of, 0));
  }
  EXPECT_FALSE(own.take(3, claim::ordinary, 0));
  EXPECT_FALSE(own.come_back(3, 10)) << "the answer's";
  EXPECT_FALSE(own.come_back(3, 20)) << "the one of packets without an epoch";
  EXPECT_EQ(own.next_ns(3), never);
  EXPECT_TRUE(own.come_back(3, 30));
  EXPECT_EQ(own.next_ns(3), 30u);
  EXPECT_EQ(own.forget_refusals(20), 30u);

  EXPECT_TRUE(own.take(3, claim::no_epoch, 20));
  EXPECT_FALSE(own.take(3, claim::no_epoch, 20)) << "served before what is ordinary";
  EXPECT_EQ(own.next_ns(3), 30u);
  EXPECT_EQ(own.forget_refusals(30), never);
}

TEST(sim_credits, forget_peers_that_have_all_of_them) {
  credits own(4);
  EXPECT_TRUE(own.take(1000, claim::ordinary, 0));
  for (rank_t peer = 0; peer < 500; ++peer) {
    const auto now_ns = static_cast<std::uint64_t>(peer);
    EXPECT_TRUE(own.take(peer, claim::ordinary, now_ns));
    own.come_back(peer, now_ns + 1);
  }
  EXPECT_LT(own.known(), 100u) << "idle peers leave before there is room for more";
  EXPECT_TRUE(own.take(1000, claim::ordinary, 500));
  EXPECT_FALSE(own.take(1000, claim::ordinary, 500)) << "the one that never came back was not forgotten";
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
