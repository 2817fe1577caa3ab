// Packets to ranks that poll all the time: whatever a peer sends while it is engaged is polled, though the rank returns
// to its program at any moment.

#include "amity/fabric/shm/attention.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "amity/base/clock.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/layout.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/skip.hpp"

namespace amity::fabric::shm {
namespace {

class attention_test : public ::testing::Test {
 protected:
  void SetUp() override {
    AMITY_SKIP_UNLESS(std::thread::hardware_concurrency() >= 2, "ranks that share a CPU are not attentive");
  }

  // A peer that waits for a CPU has not been stopped.
  attention of(rank_t rank) {
    return {region_map(job_.region(sizes_.total_bytes()), sizes_), job_, rank, ~std::uint64_t{0}};
  }

  job_memory job_ = job_memory::create(2);
  geometry sizes_{.ranks = 2, .ring_slots = 4, .buffers = 1, .packet_bytes = 64};
};

TEST_F(attention_test, peers_engage_from_begin_to_end) {
  attention own = of(0), peer = of(1);
  EXPECT_FALSE(peer.engage(0));
  own.begin();
  EXPECT_TRUE(peer.engage(0));
  peer.disengage(0);
  EXPECT_TRUE(own.end());
  EXPECT_FALSE(peer.engage(0));
}

TEST_F(attention_test, sleep_pauses_it) {
  attention own = of(0), peer = of(1);
  own.begin();
  own.pause();
  EXPECT_FALSE(peer.engage(0));
  own.begin();
  EXPECT_TRUE(peer.engage(0));
  peer.disengage(0);
  own.pause();
  EXPECT_TRUE(own.end()) << "a packet may have been sent before the pause";
}

TEST_F(attention_test, ends_at_once_if_no_peer_relies_on_it) {
  attention own = of(0);
  EXPECT_FALSE(own.end());
  own.begin();
  EXPECT_FALSE(own.end());
}

TEST_F(attention_test, end_waits_for_engaged_peer) {
  attention own = of(0), peer = of(1);
  for (std::uint64_t round = 0; round < testing::cases(200); ++round) {
    own.begin();
    ASSERT_TRUE(peer.engage(0));
    std::atomic<bool> is_engaged = true;
    std::thread other([&] {
      is_engaged = false;
      peer.disengage(0);
    });
    EXPECT_TRUE(own.end());
    EXPECT_FALSE(is_engaged);
    other.join();
  }
}

TEST_F(attention_test, end_of_job_ends_wait) {
  attention own = of(0), peer = of(1);
  own.begin();
  ASSERT_TRUE(peer.engage(0));
  job_.abort(1);
  EXPECT_TRUE(own.end());
  peer.disengage(0);
}

class packet_counter final : public sink {
 public:
  disposition on_packet(const packet&) noexcept override {
    ++packets;
    return disposition::release;
  }
  std::uint64_t packets = 0;
};

// Rank 0 polls for a while, ends that, and looks at what rank 1 has sent until then.
TEST_F(attention_test, packets_of_engaged_peer_are_polled) {
  const std::uint64_t rounds = testing::cases(200);
  // Written by rank 1 between `engage` and `disengage`, and so seen by rank 0 after `end`.
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<bool> has_ended = false;
  run_threads({}, 2, [&](fabric& own) {
    if (own.rank() == 1) {
      while (!has_ended) {
        if (!own.attention()->engage(0)) {
          std::this_thread::yield();
          continue;
        }
        if (own.try_send(0, 0, {}, claim::ordinary) == status::ok) sent.fetch_add(1, std::memory_order_relaxed);
        own.attention()->disengage(0);
      }
      return 0;
    }
    packet_counter all;
    std::uint64_t with_packets = 0;
    for (std::uint64_t round = 0; with_packets < rounds && !::testing::Test::HasFailure(); ++round) {
      const std::uint64_t before = all.packets;
      own.attention()->begin();
      for (std::uint64_t polls = 0; polls <= round % 50; ++polls) static_cast<void>(own.poll(all, 16));
      const std::uint64_t end_begins_ns = steady_now_ns();
      if (!own.attention()->end()) continue;
      const bool may_have_given_up = steady_now_ns() - end_begins_ns > 10'000'000;  // the peer waits for a CPU
      while (own.poll(all, 16) > 0) continue;
      if (may_have_given_up) continue;
      EXPECT_EQ(all.packets, sent.load(std::memory_order_relaxed)) << "round " << round;
      if (all.packets > before) ++with_packets;
      if (round % 100 == 0) std::this_thread::yield();
    }
    has_ended = true;
    return 0;
  });
}

}  // namespace
}  // namespace amity::fabric::shm
