/// A rank that is in the next epoch still answers what is asked outside epochs, although packets of its epoch hold all
/// credits that are not reserved.

#include <cstdint>
#include <functional>
#include <vector>

#include "amity/core/memory.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "tests/core/poorer.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::held_back;

constexpr epoch_tag next_epoch = 1;

/// What takes up the credits: packets without content, or packets that fill slots.
enum class flood { credits, slots };

class next_epoch_answers : public testing::every_fabric {
 protected:
  /// All ranks but 0 begin an epoch, in which they send rank 0 more than it can keep. Then rank 0 does `ask`, outside
  /// epochs.
  template <class Ask>
  void ask_beside(flood kind, endpoint& own, Ask&& ask) const {
    std::size_t kept = 0, sent = 0;
    for (rank_t peer = 1; peer < own.size(); ++peer) {
      const fabric::allowance allowed = own.transport().allowance_to(peer);
      kept += kind == flood::credits ? allowed.packets : allowed.slots;
    }
    std::size_t taken = 0;
    const std::vector<std::byte> content(kind == flood::credits ? 0 : own.packet_bytes_max());
    const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
    own.barrier();
    if (own.rank() > 0) {
      own.open_epoch(next_epoch);
      const fabric::allowance allowed = own.transport().allowance_to(0);
      const std::size_t messages = (kind == flood::credits ? allowed.packets : allowed.slots) + 20;
      for (; sent < messages; ++sent) own.request_medium(0, take, content);
    } else {
      own.wait_until("the flood", [&] { return static_cast<std::size_t>(held_back(own)) == kept; });
      ask();
      EXPECT_EQ(taken, 0u);
      own.open_epoch(next_epoch);
    }
    const std::size_t due = own.rank() > 0 ? 0 : kept + 20 * static_cast<std::size_t>(own.size() - 1);
    own.wait_until("the epoch", [&] { return taken == due; });
    own.barrier();
    own.close_epoch();
    own.remove_handler(take);
  }
};
INSTANTIATE_TEST_SUITE_P(core, next_epoch_answers, testing::every_job(), testing::job_name);

TEST_P(next_epoch_answers, replies_of_any_size) {
  run([this](endpoint& own) {
    for (const flood kind : {flood::credits, flood::slots}) {
      for (const std::size_t bytes : {0, 1000, 100'000}) {
        std::size_t replies = 0;
        const handler_id reply = own.add_handler("reply", [&](request& r) {
          EXPECT_EQ(r.payload().size(), bytes);
          EXPECT_TRUE(fabric::testing::is_payload(r.payload(), static_cast<std::uint64_t>(r.source())));
          EXPECT_FALSE(own.in_epoch());
          ++replies;
        });
        const handler_id ask = own.add_handler("ask", [&](request& r) {
          std::vector<std::byte> content(bytes);
          fabric::testing::fill(content, static_cast<std::uint64_t>(own.rank()));
          r.reply_medium(reply, content);
        });
        ask_beside(kind, own, [&] {
          // More than the reserve can carry at once.
          constexpr std::size_t asked = 5;
          for (std::size_t i = 0; i < asked; ++i) {
            for (rank_t peer = 1; peer < own.size(); ++peer) own.request_short(peer, ask);
          }
          own.wait_until("replies", [&] { return replies == asked * static_cast<std::size_t>(own.size() - 1); });
        });
        own.remove_handler(ask);
        own.remove_handler(reply);
      }
    }
  });
}

// By packets, and as far as the fabric can.
class next_epoch_memory : public next_epoch_answers {
 protected:
  void use(bool has_memory) const {
    kind().run(ranks(), {}, [&](fabric::fabric& whole) {
      fabric::testing::poorer transport(whole, has_memory);
      endpoint own(transport, {});
      put_get_and_add(own);
    });
  }

 private:
  void put_get_and_add(endpoint& own) const {
    constexpr std::size_t bytes = 20'000, word = 8;
    auto& memory = own.memory();
    std::vector<std::byte> offered(bytes + word);
    fabric::testing::fill({offered.data(), bytes}, static_cast<std::uint64_t>(own.rank()));
    const local_segment mine = memory.attach(offered);
    const std::vector<remote_segment> all = exchange(own, mine);
    std::vector<std::byte> got(bytes), put(bytes);
    for (const flood kind : {flood::credits, flood::slots}) {
      ask_beside(kind, own, [&] {
        for (rank_t peer = 1; peer < own.size(); ++peer) {
          const remote_segment& there = all[static_cast<std::size_t>(peer)];
          memory.get({there, 0}, got);
          EXPECT_TRUE(fabric::testing::is_payload(got, static_cast<std::uint64_t>(peer)));
          memory.put({there, 0}, got);
          const std::uint64_t before =
              memory.atomic({there, bytes}, {.op = fabric::atomic_op::add, .bytes = word, .operand = 3});
          EXPECT_EQ(before, kind == flood::credits ? 0u : 3u);
        }
      });
    }
    own.barrier();
  }
};
INSTANTIATE_TEST_SUITE_P(core, next_epoch_memory, testing::every_job(), testing::job_name);

TEST_P(next_epoch_memory, puts_gets_and_atomics_by_packets) { use(false); }

TEST_P(next_epoch_memory, puts_gets_and_atomics) { use(true); }

TEST_P(next_epoch_answers, longs_of_every_protocol) {
  constexpr std::size_t bytes = 20'000;
  for (const std::string protocol : {"auto", "packed", "put_sync_send", "chained", "rendezvous", "reassembly"}) {
    const auto ask_for_longs = [this](endpoint& own) {
      for (const flood kind : {flood::credits, flood::slots}) {
        const local_segment mine = own.memory().allocate(2 * bytes);
        fabric::testing::fill({mine.data, bytes}, static_cast<std::uint64_t>(own.rank()));
        const bytes_view content(mine.data, bytes);
        std::vector<remote_segment> all;
        std::size_t replies = 0;
        event sent;
        const handler_id reply = own.add_handler("reply", [&](request& r) {
          EXPECT_TRUE(fabric::testing::is_payload(r.payload(), static_cast<std::uint64_t>(r.source())));
          ++replies;
        });
        const handler_id ask = own.add_handler("ask", [&](request& r) {
          r.reply_long({all[0], bytes}, reply, content, {}, sent);
        });
        all = exchange(own, mine);
        ask_beside(kind, own, [&] {
          for (rank_t peer = 1; peer < own.size(); ++peer) {
            own.request_long({all[static_cast<std::size_t>(peer)], bytes}, ask, content, {});
            own.wait_until("the reply", [&] { return replies == static_cast<std::size_t>(peer); });
          }
        });
        own.wait_until("Longs", [&] { return sent.done(); });
        own.barrier();
        own.remove_handler(ask);
        own.remove_handler(reply);
      }
    };
    run(ask_for_longs, configured({{"AMITY_LONG_PROTOCOL", protocol}, {"AMITY_LONG_SLOTS", "2"}}));
  }
}

/// Calls `measure` with a function in which rank 0 makes 1,000 gets by packets from rank 1, while rank 2 sends as much
/// as it can. If `is_ahead`, rank 1 is in the next epoch, and its packets hold all ordinary credits to rank 0.
void gets_beside_flood(fabric::fabric& whole, bool is_ahead,
                       const std::function<void(const std::function<void()>& gets)>& measure) {
  fabric::testing::poorer transport(whole, false);
  endpoint own(transport, {});
  bool end = false;
  std::uint64_t early = 0;
  const handler_id flood = own.add_handler("flood", [](request&) {});
  const handler_id take = own.add_handler("take", [&](request&) { ++early; });
  const handler_id stop = own.add_handler("stop", [&](request&) { end = true; });
  auto& memory = own.memory();
  std::vector<std::byte> offered(64), got(64);
  const local_segment mine = memory.attach(offered);
  const std::vector<remote_segment> all = exchange(own, mine);
  // Each rank knows how many packets rank 1 may send: both ways are the same.
  const std::size_t kept = is_ahead ? own.transport().allowance_to(own.rank() == 1 ? 0 : 1).packets : 0;
  own.barrier();
  if (own.rank() == 1) {
    if (is_ahead) own.open_epoch(next_epoch);
    for (std::size_t i = 0; i < kept; ++i) own.request_short(0, take);
  }
  if (own.rank() == 0) {
    own.wait_until("early packets", [&] { return static_cast<std::size_t>(held_back(own)) == kept; });
    measure([&] {
      for (int i = 0; i < 1000; ++i) memory.get({all[1], 0}, got);
    });
    for (rank_t peer = 1; peer < 3; ++peer) own.request_short(peer, stop);
    if (is_ahead) own.open_epoch(next_epoch);
    own.wait_until("early packets", [&] { return early == kept; });
  } else {
    while (own.rank() == 2 && !end) own.request_short(0, flood);
    own.wait_until("the end", [&] { return end; });
  }
  own.barrier();
  if (own.epoch_open()) own.close_epoch();
}

/// In virtual time.
std::uint64_t time_of_gets_beside_flood(bool is_ahead) {
  std::uint64_t taken_ns = 0;
  fabric::sim::run(3, {}, [&](fabric::fabric& whole) {
    gets_beside_flood(whole, is_ahead, [&](const std::function<void()>& gets) {
      const std::uint64_t begin_ns = whole.now_ns();
      gets();
      taken_ns = whole.now_ns() - begin_ns;
    });
    return 0;
  });
  return taken_ns;
}

TEST(gets_from_next_epoch, cost_little_beside_flood) {
  EXPECT_LE(time_of_gets_beside_flood(true), time_of_gets_beside_flood(false) * 3 / 2);
}

/// A rank that returns credits by itself, and never because it waits.
class never_publishes final : public fabric::decorator {
 public:
  explicit never_publishes(::amity::fabric::fabric& inner) : decorator(inner) {}
  void publish() override {
    if (!is_quiet) decorator::publish();
  }
  bool is_quiet = false;
};

// Shared memory returns credits in batches, and the rest of a batch when a rank has spun without
// success. No get may depend on
// that: the answers have a single credit.
TEST(gets_from_next_epoch, need_no_wait_for_credits) {
  fabric::shm::run_threads({}, 3, [](fabric::fabric& whole) {
    never_publishes transport(whole);
    gets_beside_flood(transport, true, [&](const std::function<void()>& gets) {
      transport.is_quiet = true;
      gets();
      transport.is_quiet = false;
    });
    return 0;
  });
}

}  // namespace
}  // namespace amity::core
