/// What waits to be sent: who leaves first, what it costs, and how it is bounded.

#include "amity/core/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/core/reassembly.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/trees.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::failure_of;
using testing::simulate;

constexpr std::size_t packet_bytes = 512;

/// A fabric that takes as many packets to a rank as the test allows, and records them.
class recorder final : public fabric::fabric {
 public:
  struct packet {
    rank_t dest;
    std::uint64_t word;
    std::vector<std::byte> payload;
  };

  /// Packets that it takes; no entry: all.
  std::map<rank_t, int> allowed;
  /// To ranks with an entry, it takes packets of this claim or a stronger one.
  amity::fabric::claim least = amity::fabric::claim::ordinary;
  std::vector<packet> taken;
  int refused = 0;

  std::vector<int> handlers_to(rank_t dest) const {
    std::vector<int> all;
    for (const packet& each : taken) {
      if (each.dest == dest) all.push_back(packet_header(each.word).handler());
    }
    return all;
  }

  rank_t rank() const noexcept override { return 0; }
  rank_t size() const noexcept override { return 4; }
  const amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t) const noexcept override { return 0; }
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, amity::fabric::claim of) noexcept override {
    if (!may_take(dest, of)) return status::again;
    taken.push_back({dest, header, {payload.begin(), payload.end()}});
    return status::ok;
  }
  status acquire(rank_t dest, amity::fabric::slot& out, amity::fabric::claim of) noexcept override {
    if (!may_take(dest, of)) return status::again;
    out = {.data = slot_.data(), .capacity = packet_bytes, .id = 0};
    return status::ok;
  }
  void commit(rank_t dest, std::uint64_t header, const amity::fabric::slot&, std::size_t bytes) noexcept override {
    taken.push_back({dest, header, {slot_.begin(), slot_.begin() + static_cast<std::ptrdiff_t>(bytes)}});
  }
  void release(std::uint64_t) noexcept override {}
  std::size_t poll(amity::fabric::sink&, std::size_t) override { return 0; }
  void check() override {}
  bool ready() override { return false; }
  void publish() override {}
  amity::fabric::alarm arm() override { return {}; }
  void disarm() noexcept override {}
  std::uint64_t now_ns() const noexcept override { return 0; }
  void abort() noexcept override {}

 private:
  bool may_take(rank_t dest, amity::fabric::claim of) noexcept {
    const auto limit = allowed.find(dest);
    if (limit == allowed.end()) return true;
    if (limit->second == 0 || of < least) {
      ++refused;
      return false;
    }
    --limit->second;
    return true;
  }

  static amity::fabric::capabilities small_packets() {
    amity::fabric::capabilities caps;
    caps.packet_bytes_max = packet_bytes;
    return caps;
  }

  amity::fabric::capabilities caps_ = small_packets();
  std::vector<std::byte> slot_ = std::vector<std::byte>(packet_bytes);
};

constexpr epoch_tag some_epoch = 7;

packet_header numbered(handler_id number, epoch_tag epoch = some_epoch) {
  return packet_header({.handler = number, .epoch = epoch});
}

void push(outbox& into, rank_t dest, packet_header header, std::size_t bytes = 8, world_number world = 0) {
  into.push(dest, world, header, into.open_packet(bytes), bytes);
}

struct ending final : lent_token {
  explicit ending(int& count) : ends(count) {}
  ~ending() override { ++ends; }
  int& ends;
};

lent_buffer lent(packet_header header, bytes_view memory, std::size_t item_bytes, int* ends = nullptr) {
  lent_buffer buffer;
  const bool whole = item_bytes <= packet_bytes;
  buffer.header = whole ? header : header.with_kind(packet_kind::fragment);
  buffer.item_bytes = item_bytes;
  buffer.rest = memory;
  if (ends != nullptr) buffer.token = std::make_unique<ending>(*ends);
  return buffer;
}

TEST(outbox, newest_first_for_each_peer) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  for (handler_id number = 0; number < 6; ++number) push(waiting, number % 2, numbered(number));
  EXPECT_EQ(waiting.of_world(0).packets, 6u);
  out.allowed[1] = 1;
  EXPECT_TRUE(waiting.drain(out));
  EXPECT_EQ(out.handlers_to(0), (std::vector<int>{4, 2, 0}));
  EXPECT_EQ(out.handlers_to(1), (std::vector<int>{5}));
  EXPECT_EQ(out.refused, 1) << "a peer that refuses is asked once";
  EXPECT_EQ(waiting.of_world(0).packets, 2u);
  EXPECT_FALSE(waiting.drain(out));
  push(waiting, 1, numbered(7));
  out.allowed.clear();
  waiting.drain(out);
  EXPECT_EQ(out.handlers_to(1), (std::vector<int>{5, 7, 3, 1}));
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(waiting.of_world(0).packets, 0u);
}

// What belongs to an epoch may be held back by its target until the peer has got the rest.
TEST(outbox, runtime_first_epochs_last) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  const std::vector<std::byte> memory(64);
  push(waiting, 1, numbered(1));
  waiting.push(1, lent(numbered(2), memory, 64));
  waiting.push(1, lent(numbered(3, no_epoch), memory, 64));
  push(waiting, 1, numbered(4, no_epoch));
  push(waiting, 1, numbered(5, no_epoch));
  push(waiting, 1, numbered(6));
  for (const handler_id number : {handler_id{7}, handler_id{8}})
    waiting.push_control(1, 0, packet_header({.handler = number, .kind = packet_kind::collective}), {});
  EXPECT_TRUE(waiting.holds(1, packet_header({.kind = packet_kind::collective})));
  EXPECT_FALSE(waiting.holds(2, packet_header({.kind = packet_kind::collective})));
  EXPECT_EQ(waiting.of_world(0).control, 2u);
  EXPECT_EQ(waiting.of_world(0).packets, 6u);
  waiting.drain(out);
  EXPECT_EQ(out.handlers_to(1), (std::vector<int>{7, 8, 5, 4, 3, 6, 1, 2}));
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(waiting.of_world(0).control, 0u);
}

// With only the reserve left, all that belongs to no epoch leaves.
TEST(outbox, reserve_for_packets_without_epoch) {
  const std::vector<std::byte> memory(1300);
  for (const auto least : {fabric::claim::no_epoch, fabric::claim::answer}) {
    memory_bound bound(1 << 20);
    outbox waiting(bound, packet_bytes);
    recorder out;
    out.allowed[1] = 100;
    out.least = least;
    push(waiting, 1, numbered(1));
    push(waiting, 1, numbered(2, no_epoch));
    waiting.push(1, lent(numbered(3, no_epoch), bytes_view(memory).first(100), 100));
    waiting.push(1, lent(numbered(4, no_epoch), memory, 1300));
    waiting.push(1, lent(numbered(5), memory, 1300));
    waiting.push_control(1, 0, packet_header({.handler = 6, .kind = packet_kind::service}), {});
    waiting.drain(out);
    EXPECT_EQ(out.handlers_to(1),
              least == fabric::claim::answer ? std::vector<int>({6}) : std::vector<int>({6, 2, 3, 4, 4, 4}));
  }
}

TEST(outbox, empty_packets_count) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  push(waiting, 0, numbered(1), 0);
  const std::size_t empty = bound.bytes();
  EXPECT_GE(empty, sizeof(owned_packet) + sizeof(std::uint64_t));
  push(waiting, 0, numbered(1), 1000);
  EXPECT_EQ(bound.bytes(), 2 * empty + 1000);
  EXPECT_EQ(bound.leaving_bytes(), bound.bytes());
  waiting.drain(out);
  EXPECT_EQ(bound.bytes(), 0u);
  EXPECT_EQ(bound.bytes_peak(), 2 * empty + 1000);
}

TEST(outbox, open_packets_count) {
  memory_bound bound(1000);
  outbox waiting(bound, packet_bytes);
  EXPECT_TRUE(bound.has_room(1000));
  EXPECT_FALSE(bound.has_room(1001));
  auto open = waiting.open_packet(100);
  const std::size_t one = open->memory_bytes();
  EXPECT_EQ(bound.bytes(), one);
  EXPECT_EQ(bound.leaving_bytes(), 0u) << "it waits for its end, not for a credit";
  EXPECT_TRUE(bound.has_room(1000 - one));
  EXPECT_FALSE(bound.has_room(1001 - one));
  bound.subtract_held(one);
  open.reset();
  EXPECT_EQ(bound.bytes(), 0u);
  bound.add_held(600);
  bound.add_leaving(400);
  EXPECT_FALSE(bound.has_room(1));
  EXPECT_EQ(bound.leaving_bytes(), 400u);
  bound.subtract_held(600);
  bound.subtract_leaving(400);
  EXPECT_TRUE(bound.has_room(1000));
}

TEST(outbox, packets_of_lent_memory_count) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  const std::vector<std::byte> memory(100'000);
  int ends = 0;
  waiting.push(2, lent(numbered(1), memory, 100, &ends));  // 5 in a packet
  EXPECT_EQ(bound.bytes(), lent_buffer::overhead_bytes);
  EXPECT_EQ(waiting.of_world(0).packets, 200u);
  out.allowed[2] = 150;
  EXPECT_TRUE(waiting.drain(out));
  EXPECT_EQ(waiting.of_world(0).packets, 50u);
  EXPECT_EQ(ends, 0);
  out.allowed.clear();
  waiting.drain(out);
  EXPECT_EQ(waiting.of_world(0).packets, 0u);
  EXPECT_EQ(bound.bytes(), 0u);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(out.taken.size(), 200u);
}

// Several items that no packet holds: each is a message with a number of its own.
TEST(outbox, large_items_leave_in_fragments) {
  constexpr std::size_t item = 1300, items = 3, per_item = 3;
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  std::vector<std::byte> memory(items * item);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 >> 3);
  lent_buffer buffer = lent(numbered(1), memory, item);
  buffer.fragmented = 40;
  waiting.push(2, std::move(buffer));
  EXPECT_EQ(waiting.of_world(0).packets, items * per_item);
  for (std::uint64_t left = items * per_item; left > 0; --left) {
    EXPECT_EQ(waiting.of_world(0).packets, left);
    out.allowed[2] = 1;
    waiting.drain(out);
  }
  EXPECT_TRUE(waiting.empty());
  reassembly together;
  std::vector<std::byte> arrived;
  for (std::size_t i = 0; i < out.taken.size(); ++i) {
    EXPECT_EQ(split_fragment(out.taken[i].payload).first.message, 40 + i / per_item);
    if (const auto whole = together.add(0, out.taken[i].payload))
      arrived.insert(arrived.end(), whole->bytes.begin(), whole->bytes.end());
  }
  EXPECT_EQ(arrived, memory);
}

TEST(outbox, worlds_apart) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  const std::vector<std::byte> memory(1000);
  int ends = 0;
  push(waiting, 1, numbered(1), 8, 3);
  push(waiting, 1, numbered(2), 8, 0);
  lent_buffer buffer = lent(numbered(4), memory, 100, &ends);
  buffer.world = 3;
  waiting.push(2, std::move(buffer));
  waiting.push_control(2, 3, packet_header({.kind = packet_kind::collective}), {});
  EXPECT_EQ(waiting.of_world(3).packets, 3u);
  EXPECT_EQ(waiting.of_world(0).packets, 1u);
  EXPECT_EQ(waiting.of_world(200).packets, 0u);
  EXPECT_EQ(waiting.of_world(3).control, 1u);
  waiting.drop_buffers(0, 4);
  EXPECT_EQ(ends, 0);
  waiting.drop_buffers(3, 4);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(waiting.of_world(3).packets, 1u);
  waiting.drop(3);
  EXPECT_EQ(waiting.of_world(3).packets, 0u);
  EXPECT_EQ(waiting.of_world(3).control, 0u);
  waiting.drain(out);
  EXPECT_EQ(out.taken.size(), 1u);
  EXPECT_EQ(out.handlers_to(1), (std::vector<int>{2}));
  EXPECT_EQ(bound.bytes(), 0u);
  EXPECT_TRUE(waiting.empty());
}

TEST(outbox, world_in_each_packet) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  const std::vector<std::byte> memory(1000);
  push(waiting, 1, numbered(1), 8, 3);
  for (const std::size_t item : {100, 1000}) {
    lent_buffer buffer = lent(numbered(4), memory, item);
    buffer.world = 3;
    waiting.push(1, std::move(buffer));
  }
  waiting.push_control(1, 3, packet_header({.kind = packet_kind::collective}), {});
  waiting.drain(out);
  EXPECT_EQ(out.taken.size(), 7u);
  for (const auto& each : out.taken) EXPECT_EQ(world_of(each.word), 3);
}

// A newer buffer goes first, but not before a buffer that has left in part: the target would hold parts of both.
TEST(outbox, begun_buffer_first) {
  memory_bound bound(1 << 20);
  outbox waiting(bound, packet_bytes);
  recorder out;
  const std::vector<std::byte> memory(1300);
  for (const handler_id number : {handler_id{1}, handler_id{2}})
    waiting.push_newest_first(1, lent(numbered(number), memory, 1300));
  out.allowed[1] = 1;
  waiting.drain(out);
  waiting.push_newest_first(1, lent(numbered(3), memory, 1300));
  waiting.push(1, lent(numbered(4), memory, 1300));
  out.allowed.clear();
  waiting.drain(out);
  EXPECT_EQ(out.handlers_to(1), (std::vector<int>{2, 2, 2, 3, 3, 3, 1, 1, 1, 4, 4, 4}));
}

// Every handler sends three messages on, and there are hardly any credits.
constexpr rank_t fan_ranks = 16;
constexpr testing::trees fan{.ranks = fan_ranks, .seed = 7, .roots = 1, .depth = 8, .fanout = {3, 3, 3, 3, 3, 3, 3, 3}};

TEST(outbox, shallow_when_handlers_fan_out) {
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
    peak = std::max(peak, own.own_engine().bound().bytes_peak());
  });
  const std::size_t packets = peak / owned_packet::memory_for(2 * sizeof(std::uint64_t));
  RecordProperty("packets_waiting_peak", static_cast<int>(packets));
  // 490 newest first, 1,831 oldest first.
  EXPECT_GT(packets, 100u);
  EXPECT_LT(packets, 900u);
}

}  // namespace
}  // namespace amity::core
