/// What handlers send without a credit: it waits in the spill, leaves newest first, and is bounded.

#include "amity/core/spill.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/trees.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::failure_of;
using testing::simulate;

std::unique_ptr<spilled_packet> numbered(handler_id number) {
  auto packet = std::make_unique<spilled_packet>(8);
  packet->header = packet_header({.handler = number});
  return packet;
}

TEST(spill, lets_the_newest_out_first_for_each_peer) {
  spill waiting;
  for (handler_id number = 0; number < 6; ++number) waiting.push(number % 2, numbered(number));
  EXPECT_EQ(waiting.packets(), 6u);
  std::map<rank_t, std::vector<int>> out;
  EXPECT_EQ(waiting.drain([&](rank_t dest, const spilled_packet& packet) {
    if (dest == 1 && out[1].size() == 1) return false;
    out[dest].push_back(packet.header.handler());
    return true;
  }),
            4u);
  EXPECT_EQ(out[0], (std::vector<int>{4, 2, 0}));
  EXPECT_EQ(out[1], (std::vector<int>{5}));
  EXPECT_EQ(waiting.packets(), 2u);
  waiting.push(1, numbered(7));
  waiting.drain([&](rank_t dest, const spilled_packet& packet) {
    out[dest].push_back(packet.header.handler());
    return true;
  });
  EXPECT_EQ(out[1], (std::vector<int>{5, 7, 3, 1}));
  EXPECT_TRUE(waiting.empty());
}

TEST(spill, counts_the_memory_of_each_packet_even_of_empty_ones) {
  spill waiting;
  waiting.push(0, std::make_unique<spilled_packet>(0));
  const std::size_t empty = waiting.bytes();
  EXPECT_GE(empty, sizeof(spilled_packet));
  waiting.push(0, std::make_unique<spilled_packet>(1000));
  EXPECT_EQ(waiting.bytes(), 2 * empty + 1000);
  waiting.drain([](rank_t, const spilled_packet&) { return true; });
  EXPECT_EQ(waiting.bytes(), 0u);
  EXPECT_EQ(waiting.bytes_peak(), 2 * empty + 1000);
}

// Every handler sends three messages on, and there are hardly any credits.
constexpr rank_t fan_ranks = 16;
constexpr testing::trees fan{.ranks = fan_ranks, .seed = 7, .roots = 1, .depth = 8, .fanout = {3, 3, 3, 3, 3, 3, 3, 3}};

TEST(spill, stays_shallow_when_handlers_fan_out) {
  const auto expected = fan.walk();
  ASSERT_EQ(expected.messages(), fan_ranks * (19683u - 1) / 2);
  std::size_t peak = 0;
  simulate(fan_ranks, {.delay_ns_max = 1000, .credits = 4}, [&](endpoint& own) {
    const auto me = static_cast<std::size_t>(own.rank());
    std::uint64_t handled = 0;
    std::uint64_t key_sum = 0;
    handler_id visit = 0;
    const auto send = [&](const testing::node& n) { own.request_short(fan.home(n), visit, {n.key, n.level}); };
    visit = own.add_handler("visit", [&](request& r) {
      const testing::node n{.key = r.args()[0], .level = r.args()[1]};
      ++handled;
      key_sum += n.key;
      fan.for_each_child(n, send);
    });
    own.barrier();
    fan.for_each_root(own.rank(), send);
    own.wait_until("the whole tree", [&] { return handled == expected.handled[me]; });
    own.barrier();
    EXPECT_EQ(handled, expected.handled[me]);
    EXPECT_EQ(key_sum, expected.key_sums[me]);
    peak = std::max(peak, own.spill_bytes_peak());
  });
  const std::size_t packets = peak / (2 * sizeof(std::uint64_t) + spilled_packet::overhead_bytes);
  RecordProperty("packets_spilled_peak", static_cast<int>(packets));
  // 490 newest first, 1,831 oldest first.
  EXPECT_GT(packets, 100u);
  EXPECT_LT(packets, 900u);
}

}  // namespace
}  // namespace amity::core
