/// What no job of a test lives to see: the numbers in stamps, of 32 bits, have come round.

#include "amity/fabric/shm/channel.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace amity::fabric::shm {
namespace {

constexpr std::uint64_t round_packets = std::uint64_t{1} << 32;
constexpr geometry sizes{.ranks = 2, .ring_slots = 16, .buffers = 2, .packet_bytes = 1024};

/// One rank's end of the lane and of both channels.
struct end_of_pair {
  end_of_pair(const region_map& map, rank_t own, rank_t peer, std::uint64_t packets_before)
      : lane(map.channel(own, peer).lane, own, peer),
        out(map.channel(peer, own), sizes, lane, packets_before),
        in(map.channel(own, peer), sizes, lane, packets_before) {}

  void send_to(end_of_pair& peer, std::uint64_t header) {
    ASSERT_TRUE(out.has_credit(claim::answer));
    ASSERT_FALSE(peer.in.has_arrived());
    out.write_inline(header, {});
    taken_packet taken{};
    ASSERT_TRUE(peer.in.take(taken));
    ASSERT_EQ(taken.header, header);
    peer.in.return_credit();
  }

  express_lane lane;
  outbound out;
  inbound in;
};

class shm_channel : public ::testing::Test {
 protected:
  channel_memory to_rank_1() const { return map_.channel(1, 0); }
  const region_map& map() const { return map_; }

 private:
  std::vector<ring_slot> memory_ = std::vector<ring_slot>(sizes.total_bytes() / sizeof(ring_slot));
  region_map map_{reinterpret_cast<std::byte*>(memory_.data()), sizes};
};

TEST_F(shm_channel, a_packet_that_was_read_from_the_lane_is_not_found_there_a_round_later) {
  end_of_pair rank_0(map(), 0, 1, 0);
  end_of_pair rank_1(map(), 1, 0, 0);
  rank_0.send_to(rank_1, 1);
  const inbound a_round_later(to_rank_1(), sizes, rank_1.lane, round_packets);
  EXPECT_FALSE(a_round_later.has_arrived());
}

// Replies keep to the lane: without its renewal, the ring would be as it was at the beginning.
TEST_F(shm_channel, slots_of_the_ring_are_written_within_a_round) {
  constexpr std::uint64_t renewed_at = round_packets / 4;
  end_of_pair rank_0(map(), 0, 1, renewed_at);
  end_of_pair rank_1(map(), 1, 0, renewed_at);
  for (std::uint64_t i = 0; i < 2 * sizes.ring_slots; ++i) {
    rank_0.send_to(rank_1, i);
    rank_1.send_to(rank_0, i);
  }
  for (std::uint64_t i = 0; i < sizes.ring_slots; ++i) {
    const std::uint64_t stamp = to_rank_1().ring[i].stamp.load(std::memory_order_relaxed);
    EXPECT_GT(stamp_info::sequence(stamp), renewed_at) << i;
  }
  const inbound a_round_later(to_rank_1(), sizes, rank_1.lane, round_packets - 1);
  EXPECT_FALSE(a_round_later.has_arrived());  // its number is that of fresh memory
}

// Between renewals, only the lane is used.
TEST_F(shm_channel, replies_keep_to_the_lane) {
  end_of_pair rank_0(map(), 0, 1, 0);
  end_of_pair rank_1(map(), 1, 0, 0);
  for (std::uint64_t i = 0; i < 2 * sizes.ring_slots; ++i) {
    rank_0.send_to(rank_1, i);
    rank_1.send_to(rank_0, i);
  }
  for (std::uint64_t i = 0; i < sizes.ring_slots; ++i) EXPECT_EQ(to_rank_1().ring[i].stamp.load(), 0u) << i;
}

}  // namespace
}  // namespace amity::fabric::shm
