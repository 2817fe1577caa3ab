/// What routed messages take from the fabric while they wait to be sent.

#include <cstdint>
#include <string>

#include "amity/amity.hpp"
#include "amity/fabric/decorator.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::run_worlds;
using testing::simulated;

/// Packets that this rank has opened at a time when it has sent to all ranks, and ranks that it has talked to.
struct opened {
  std::uint64_t packets;
  std::uint64_t peers;
};

template <class... Policies>
opened open_packets(world& w, Policies... policies) {
  // Too large for a stage.
  struct letter {
    std::uint64_t words[16];
  };
  auto token = w.message<letter>([](const letter&) {}, policies...);
  w.epoch([&] {
    for (rank_t dest = 0; dest < w.size(); ++dest) token.send(dest, letter{});
  });
  opened seen{.packets = token.counters().buffer_bytes_peak / w.endpoint().packet_bytes_max(), .peers = 0};
  for (rank_t peer = 0; peer < w.size(); ++peer) {
    if (w.endpoint().counts().of(token.id(), peer).sent > 0) ++seen.peers;
  }
  return seen;
}

TEST(routing, need_no_more_packets_than_the_topology_has_peers) {
  run_worlds(simulated("sim", {.node_ranks = 16}), 64, [](world& w) {
    const auto expect_at_most = [&](std::uint64_t peers, const opened& seen) {
      EXPECT_LE(seen.peers, peers + 1) << "and the rank itself";
      EXPECT_LE(seen.packets, peers + 1);
      EXPECT_GE(seen.packets, peers / 2);
    };
    expect_at_most(7 + 7, open_packets(w, route{grid{}}, coalesce{}));
    expect_at_most(6, open_packets(w, route{hypercube{}}, coalesce{}));
    expect_at_most(3 + 15, open_packets(w, route{node_aware{}}, coalesce{}));
    const opened without = open_packets(w, coalesce{});
    EXPECT_EQ(without.packets, 64u);
    EXPECT_EQ(without.peers, 64u);
  });
}

/// Counts the slots that its rank takes.
class slot_counter final : public fabric::decorator {
 public:
  explicit slot_counter(amity::fabric::fabric& inner) : decorator(inner) {}
  status acquire(rank_t dest, amity::fabric::slot& out, amity::fabric::claim of) noexcept override {
    ++taken;
    return decorator::acquire(dest, out, of);
  }
  std::uint64_t taken = 0;
};

TEST(routing, few_messages_take_no_slots) {
  simulated("sim", {}).run(9, {}, [&](fabric::fabric& own) {
    slot_counter slots(own);
    world w(slots, {});
    std::uint64_t sum = 0;
    auto token = w.message<std::uint64_t>([&](std::uint64_t value) { sum += value; }, route{grid{}}, coalesce{});
    const auto slots_for = [&](std::uint64_t each) {
      const std::uint64_t before = slots.taken;
      w.epoch([&] {
        for (std::uint64_t i = 0; i < each; ++i) {
          for (rank_t dest = 0; dest < w.size(); ++dest) token.send(dest, i);
        }
      });
      return slots.taken - before;
    };
    EXPECT_EQ(slots_for(1), 0u);
    EXPECT_LE(token.counters().buffer_bytes_peak, 64u * (2 + 2 + 1)) << "for its peers in the grid, and itself";
    EXPECT_GT(slots_for(50), 0u);
    EXPECT_EQ(sum, 9u * (50 * 49 / 2));
    w.barrier();
  });
}

// Without a credit, what is staged waits in the outbox: only its sender's turns keep it from growing.
template <class T, class... Policies>
void send_many(const T& value, Policies... policies) {
  const settings config = testing::configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}});
  run_worlds(
      simulated("sim", {}), 4,
      [&](world& w) {
        constexpr std::uint64_t each = 10'000;
        std::uint64_t handled = 0;
        auto token = w.message<T>([&](const T&) { ++handled; }, route{grid{}}, policies...);
        w.epoch([&] {
          for (std::uint64_t i = 0; i < each; ++i) {
            token.send(w.rank() ^ 1, value);  // a neighbour in the grid: no handler forwards
            token.flush();
          }
        });
        EXPECT_EQ(handled, each);
        EXPECT_LE(w.endpoint().own_engine().bound().bytes_peak(), 40u << 10);
      },
      config);
}

TEST(routing, senders_wait_for_what_has_no_credit) {
  send_many(std::string("x"));
  send_many(std::string("x"), coalesce{.count = 1});
  send_many(std::uint64_t{1}, coalesce{.count = 1});
  send_many(std::uint64_t{1}, coalesce{});
}

}  // namespace
}  // namespace amity
