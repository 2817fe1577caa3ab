/// Priorities: what is urgent is handled first, and nothing else changes.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "amity/base/random.hpp"
#include "tests/support/trees.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::node;

/// The messages that rank 1 has got, in the order in which it handled them, when they had all arrived before.
template <class... Policies>
std::string order_of_arrived(const fabric::sim::sim_options& options, int urgent_first, Policies... policies) {
  std::string order;
  testing::run_worlds(testing::simulated("sim", options), 2, [&](world& w) {
    auto lower = w.message<char>([&](char name) { order += name; }, priority{-1});
    auto normal = w.message<char>([&](char name) { order += name; });
    auto urgent = w.message<char>([&](char name) { order += name; }, policies..., priority{2});
    w.epoch([&] {
      if (w.rank() == 1) return testing::idle_until(w.endpoint().transport(), w.now_ns() + 1'000'000);
      for (const char name : {'1', '2', '3'}) lower.send(1, name);
      if (urgent_first != 0) urgent.send(1, 'U');
      for (const char name : {'a', 'b', 'c'}) normal.send(1, name);
      urgent.send(1, 'V');
    });
  });
  return order;
}

TEST(priorities, decide_about_what_has_arrived) {
  EXPECT_EQ(order_of_arrived({}, 0), "Vabc123");
  EXPECT_EQ(order_of_arrived({}, 1), "UVabc123");
  EXPECT_EQ(order_of_arrived({}, 1, coalesce{}), "UVabc123");
  EXPECT_EQ(order_of_arrived({}, 1, unique{}), "UVabc123");
  const combine all_alike{[](char) { return 1; }, [](char a, char b) { return std::max(a, b); }};
  EXPECT_EQ(order_of_arrived({}, 1, all_alike), "Vabc123");
  EXPECT_EQ(order_of_arrived({}, 1, unique{}, all_alike, coalesce{}), "Vabc123");
}

// A packet that is kept holds its credit. With one ordinary credit none is kept, with four two.
TEST(priorities, leave_a_peer_half_of_its_credits) {
  EXPECT_EQ(order_of_arrived({.credits = 1}, 1), "123UabcV");
  const std::string order = order_of_arrived({.credits = 4 + fabric::reserve_per_peer}, 0);
  EXPECT_EQ(order.size(), 7u);
  EXPECT_EQ(order.find('3'), 0u);  // the third one did not fit, and the sender waited for its credit
}

// What a handler of an urgent message sends, if it is urgent too, comes before the rest of what is kept.
TEST(priorities, let_arrivals_overtake_what_is_kept) {
  testing::run_worlds(testing::simulated("sim", {.latency_ns = 100, .credits = 1000}), 1, [](world& w) {
    std::string order;
    auto normal = w.message<char>([&](char name) { order += name; });
    auto urgent = w.message<char>(
        [&](char name, auto& self) {
          order += name;
          if (name == 'Y') self.send(0, 'Z');
        },
        priority{});
    w.epoch([&] {
      for (int i = 0; i < 60; ++i) normal.send(0, '.');
      urgent.send(0, 'Y');
      testing::idle_until(w.endpoint().transport(), w.now_ns() + 1'000'000);
    });
    EXPECT_EQ(order.size(), 62u);
    EXPECT_LT(order.find('Y'), order.find('Z')) << order;
    EXPECT_LT(order.find('Z'), 50u) << order;
  });
}

// A released packet may be followed by another: the bound is on packets that a rank holds at a time.
TEST(priorities, hold_for_any_number_of_packets) {
  std::string order;
  constexpr int rounds = 10;
  testing::run_worlds(testing::simulated("sim", {.credits = 8}), 2, [&](world& w) {
    auto lower = w.message<char>([&](char name) { order += name; }, priority{-1});
    auto urgent = w.message<char>([&](char name) { order += name; }, priority{2});
    for (int round = 0; round < rounds; ++round) {
      w.epoch([&] {
        if (w.rank() == 1) return testing::idle_until(w.endpoint().transport(), w.now_ns() + 1'000'000);
        for (const char name : {'1', '2'}) lower.send(1, name);
        urgent.send(1, 'U');
      });
      if (w.rank() == 1) order += ' ';
    }
  });
  std::string expected;
  for (int round = 0; round < rounds; ++round) expected += "U12 ";
  EXPECT_EQ(order, expected);
}

TEST(priorities, hold_for_messages_in_fragments) {
  struct large {
    char name;
    std::byte filling[3000];
  };
  std::string order;
  testing::run_worlds(testing::simulated("sim", {.packet_bytes = 1024}), 2, [&](world& w) {
    auto lower = w.message<large>([&](const large& l) { order += l.name; }, priority{-1});
    auto urgent = w.message<char>([&](char name) { order += name; }, priority{2});
    w.epoch([&] {
      if (w.rank() == 1) return testing::idle_until(w.endpoint().transport(), w.now_ns() + 1'000'000);
      for (const char name : {'1', '2'}) lower.send(1, {.name = name, .filling = {}});
      urgent.send(1, 'U');
    });
  });
  EXPECT_EQ(order, "U12");
}

class with_priorities : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, with_priorities, testing::every_job(), testing::job_name);

// Also with few credits, messages larger than a packet, early arrivals, and a declared depth.
TEST_P(with_priorities, every_message_is_handled_once) {
  run([](world& w) {
    testing::trees work{.ranks = w.size(), .seed = 8, .roots = 4, .depth = 5, .fanout = {0, 1, 1, 2, 2, 2, 3, 3}};
    const auto expected = work.walk();
    struct large {
      node n;
      std::byte filling[1500];
    };
    std::uint64_t handled = 0;
    std::uint64_t key_sum = 0;
    std::function<void(const node&)> send;
    const auto visit = [&](const node& n) {
      ++handled;
      key_sum += n.key;
      work.for_each_child(n, send);
    };
    auto first = w.message<node>(visit, coalesce{.count = 3}, priority{2});
    auto second = w.message<node>(visit, priority{1});
    auto third = w.message<large>([&](const large& l) { visit(l.n); });
    auto last = w.message<node>(visit, coalesce{}, priority{-7});
    send = [&](const node& n) {
      const rank_t home = work.home(n);
      if (n.key % 10 < 4) return first.send(home, n);
      if (n.key % 10 < 7) return second.send(home, n);
      if (n.key % 10 < 8) return third.send(home, {.n = n, .filling = {}});
      last.send(home, n);
    };
    for (int round = 0; round < 6; ++round) {
      const auto depth = w.request_depth(round % 2 == 0 ? any_depth : 5);
      handled = key_sum = 0;
      const std::uint64_t sum = w.epoch([&] { work.for_each_root(w.rank(), send); }, [&] { return key_sum; });
      EXPECT_EQ(sum, expected.key_sum());
      EXPECT_EQ(handled, expected.handled[static_cast<std::size_t>(w.rank())]);
    }
  });
}

/// Shortest ways from vertex 0 of a random graph, by messages that correct earlier ones: how many messages that takes,
/// and the sum of all lengths.
struct ways {
  std::uint64_t messages = 0;
  std::uint64_t lengths = 0;
};

ways shortest_ways(std::uint64_t seed, const std::vector<int>& levels) {
  struct relaxed {
    std::uint64_t vertex;
    std::uint64_t length;
  };
  constexpr std::uint64_t vertices = 400;
  constexpr std::uint64_t bucket = 50;
  ways found;
  testing::run_worlds(testing::simulated("sim", {.seed = seed, .delay_ns_max = 2000, .credits = 4096}), 4,
                      [&](world& w) {
                        const cyclic_map owner(vertices, w.size());
                        std::vector<std::uint64_t> length(vertices, ~std::uint64_t{0});
                        std::function<void(const relaxed&)> send;
                        const auto relax = [&](const relaxed& r) {
                          if (r.length >= length[r.vertex]) return;
                          length[r.vertex] = r.length;
                          for (std::uint64_t edge = 0; edge < 8; ++edge) {
                            const std::uint64_t drawn = splitmix64::mix(r.vertex * 8 + edge + seed * 10'000);
                            send({.vertex = drawn % vertices, .length = r.length + 1 + drawn / vertices % 100});
                          }
                        };
                        auto near = w.message<relaxed>(relax, priority{levels[0]});
                        auto further = w.message<relaxed>(relax, priority{levels[1]});
                        auto far = w.message<relaxed>(relax, priority{levels[2]});
                        send = [&](const relaxed& r) {
                          const rank_t dest = owner(r.vertex);
                          if (r.length < bucket) return near.send(dest, r);
                          if (r.length < 2 * bucket) return further.send(dest, r);
                          far.send(dest, r);
                        };
                        w.epoch([&] {
                          if (w.rank() == 0) send({.vertex = 0, .length = 0});
                        });
                        std::uint64_t own = 0;
                        for (const std::uint64_t each : length) own += each == ~std::uint64_t{0} ? 0 : each;
                        found.messages = w.sum(w.counters().messages_handled);
                        found.lengths = w.sum(own);
                      });
  return found;
}

TEST(priorities, save_messages_where_the_order_matters) {
  std::uint64_t with = 0;
  std::uint64_t without = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ways urgent = shortest_ways(seed, {2, 1, 0});
    const ways all_alike = shortest_ways(seed, {0, 0, 0});
    EXPECT_EQ(urgent.lengths, all_alike.lengths) << "seed " << seed;
    with += urgent.messages;
    without += all_alike.messages;
  }
  RecordProperty("messages_with_priorities", static_cast<int>(with));
  RecordProperty("messages_without", static_cast<int>(without));
  EXPECT_LT(with * 10, without * 9);
}

}  // namespace
}  // namespace amity
