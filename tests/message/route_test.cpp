/// Routed messages: handled once each, on their destinations alone, over any topology and beside any other policy.

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/amity.hpp"
#include "amity/fabric/decorator.hpp"
#include "spreading.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::run_worlds;
using testing::simulated;

/// A topology of a user: everything goes round.
struct ring {
  rank_t ranks = 0;
  void arrange(std::span<const rank_t> nodes) { ranks = static_cast<rank_t>(nodes.size()); }
  rank_t next_hop(rank_t here, rank_t) const { return (here + 1) % ranks; }
};

const fabric::sim::sim_options nodes_of_three{.node_ranks = 3};

struct visit {
  rank_t source;
  rank_t dest;
  std::uint32_t lives;
};

/// Every rank sends `visits_each` messages to every rank; each handler sends another one until its lives are used up.
constexpr std::uint32_t visits_each = 3;
constexpr std::uint32_t lives_each = 2;

/// What does not depend on the policies, and so is compiled once.
struct visitors {
  world& w;
  std::uint64_t handled = 0;

  /// Where to send it next.
  rank_t take(const visit& v) {
    EXPECT_EQ(v.dest, w.rank());
    ++handled;
    return (v.dest * 5 + 2) % w.size();
  }
  void expect_all(const message_counters& counted) const {
    const auto pairs = static_cast<std::uint64_t>(w.size()) * static_cast<std::uint64_t>(w.size());
    const std::uint64_t total = pairs * visits_each * (lives_each + 1);
    EXPECT_EQ(counted.handled, handled);
    EXPECT_EQ(w.sum(counted.handled), total);
    EXPECT_EQ(w.sum(counted.sent), total);
  }
};

template <class... Policies>
message_counters visit_all(world& w, Policies... policies) {
  visitors seen{w};
  auto visits = w.message<visit>(
      [&](const visit& v, auto& self) {
        const rank_t next = seen.take(v);
        if (v.lives > 0) self.send(next, {.source = v.source, .dest = next, .lives = v.lives - 1});
      },
      policies...);
  w.epoch([&] {
    for (std::uint32_t i = 0; i < visits_each; ++i) {
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        visits.send(dest, {.source = w.rank(), .dest = dest, .lives = lives_each});
      }
    }
  });
  const message_counters counted = visits.counters();
  seen.expect_all(counted);
  return counted;
}

class routed_messages : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, routed_messages, testing::every_job(), testing::job_name);

TEST_P(routed_messages, arrive_once_over_every_topology) {
  run([](world& w) {
    visit_all(w, route{grid{}}, coalesce{});
    visit_all(w, route{hypercube{}}, coalesce{.count = 4});
    visit_all(w, route{node_aware{}}, coalesce{});
    visit_all(w, route{ring{}}, coalesce{});
    EXPECT_EQ(visit_all(w, route{direct{}}, coalesce{}).forwarded, 0u);
    visit_all(w, route{grid{}});
  });
}

// No handler sends deeper than is declared; ranks on the way do.
TEST_P(routed_messages, may_be_of_a_declared_depth) {
  run([](world& w) {
    for (const std::uint32_t deepest : {0u, 2u}) {
      std::uint64_t handled = 0;
      const auto send_on = [&](std::uint32_t left, auto& self) {
        ++handled;
        if (left > 0) self.send((w.rank() + 1) % w.size(), left - 1);
      };
      const auto depth = w.request_depth(static_cast<int>(deepest));
      const auto check = [&](auto&& message) {
        handled = 0;
        const auto all = w.epoch(
            [&] {
              for (rank_t dest = 0; dest < w.size(); ++dest) message.send(dest, deepest);
            },
            [&] { return handled; });
        const auto ranks = static_cast<std::uint64_t>(w.size());
        EXPECT_EQ(all, ranks * ranks * (deepest + 1));
      };
      check(w.message<std::uint32_t>(send_on, route{ring{}}));
      check(w.message<std::uint32_t>(send_on, route{grid{}}, coalesce{}));
    }
  });
}

TEST(routing, gone_leaves_declared_depths_in_force) {
  const std::string failure = testing::failure_in_worlds(4, [](world& w) {
    {
      const auto routed = w.message<int>([](int) {}, route{ring{}});
    }
    const auto depth = w.request_depth(0);
    auto message = w.message<int>([&](int left, auto& self) {
      if (left > 0) self.send((w.rank() + 1) % w.size(), left - 1);
    });
    w.epoch([&] { message.send((w.rank() + 1) % w.size(), 2); });
  });
  EXPECT_NE(failure.find("deeper than the depth 0 that was declared"), std::string::npos) << failure;
}

TEST(routed_messages_of_odd_jobs, arrive_once_over_every_topology) {
  const fabric::sim::sim_options rough{
      .node_ranks = 4, .delay_ns_max = 9000, .reorder_percent = 30, .credits = 2, .packet_bytes = 528};
  for (const rank_t ranks : {5, 7, 12, 31}) {
    for (const auto& options : {nodes_of_three, rough}) {
      run_worlds(simulated("odd", options), ranks, [](world& w) {
        EXPECT_EQ(w.sum(visit_all(w, route{grid{}}, coalesce{}).forwarded) > 0, w.size() > 4);
        EXPECT_GT(w.sum(visit_all(w, route{hypercube{}}, coalesce{}).forwarded), 0u);
        EXPECT_GT(w.sum(visit_all(w, route{node_aware{}}, coalesce{}).forwarded), 0u);
        visit_all(w, route{ring{}}, coalesce{});
      });
    }
  }
}

// Together with what policies_test.cpp does without routes: all legal orders.
TEST_P(routed_messages, beside_any_other_policies_give_the_same_result) {
  run([](world& w) {
    testing::for_all_orders(
        direct_mapped{16}, w.size(), [&](const auto&... chosen) { testing::run_spreading(w, 3, chosen...); },
        route{grid{}});
  });
}

TEST_P(routed_messages, may_be_texts_of_any_length) {
  run([](world& w) {
    const auto text = [](rank_t dest, std::size_t length) { return std::to_string(dest) + std::string(length, 'x'); };
    std::multiset<std::string> seen;
    auto texts = w.message<std::string>(
        [&](const std::string& s, auto& self) {
          seen.insert(s);
          if (s.size() == 2) self.send((w.rank() + 1) % w.size(), "sent on");
        },
        route{hypercube{}}, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        for (const std::size_t length : {0, 1, 70, 20'000}) texts.send(dest, text(dest, length));
      }
    });
    const auto ranks = static_cast<std::size_t>(w.size());
    EXPECT_EQ(seen.size(), ranks * 5);
    EXPECT_EQ(seen.count("sent on"), ranks);
    for (const std::size_t length : {0, 1, 70, 20'000}) EXPECT_EQ(seen.count(text(w.rank(), length)), ranks) << length;
  });
}

struct alignas(64) over_aligned {
  std::uint64_t number;
};
struct large {
  std::uint64_t number;
  std::byte rest[6000];
};

/// Values of type T, through handlers of one message and of spans.
template <class T, class... Policies>
void send_values(world& w, const T& value, Policies... policies) {
  std::uint64_t sum = 0, handled = 0, spans_sum = 0, span_bytes = 0;
  auto one = w.message<T>(
      [&](const T& each) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&each) % alignof(T), 0u);
        sum += each.number;
        ++handled;
      },
      policies...);
  auto many = w.message<T>(
      [&](std::span<const T> all) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.data()) % alignof(T), 0u);
        span_bytes = std::max<std::uint64_t>(span_bytes, all.size_bytes());
        for (const T& each : all) spans_sum += each.number;
      },
      policies...);
  constexpr std::uint64_t each = 200;
  w.epoch([&] {
    for (std::uint64_t i = 0; i < each; ++i) {
      const auto dest = static_cast<rank_t>(i) % w.size();
      one.send(dest, value);
      many.send(dest, value);
    }
  });
  EXPECT_EQ(sum, handled * value.number);
  EXPECT_EQ(spans_sum, handled * value.number);
  EXPECT_EQ(w.sum(handled), each * static_cast<unsigned>(w.size()));
  EXPECT_LE(span_bytes, std::max(routed_span_bytes_max, sizeof(T)));
  if (w.size() == 1 && sizeof(T) < 64) {
    EXPECT_GT(span_bytes, sizeof(T)) << "they came in one packet";
  }
}

TEST_P(routed_messages, may_be_values_of_any_size_and_alignment) {
  run([](world& w) {
    struct small {
      std::uint8_t number;
    };
    send_values(w, small{3}, route{grid{}}, coalesce{});
    send_values(w, over_aligned{11}, route{grid{}}, coalesce{});
    send_values(w, over_aligned{11}, route{hypercube{}});
    send_values(w, large{.number = 7, .rest = {}}, route{hypercube{}}, coalesce{});
  });
}

TEST(routing, direct_is_the_same_as_no_policy) {
  run_worlds(simulated("sim", {}), 5, [](world& w) {
    const auto bytes_with = [&](auto... policies) {
      const std::uint64_t before = w.counters().bytes_sent;
      visit_all(w, policies...);
      return w.counters().bytes_sent - before;
    };
    const std::uint64_t without = bytes_with(coalesce{});
    EXPECT_EQ(bytes_with(route{}, coalesce{}), without);
    EXPECT_GT(bytes_with(route{grid{}}, coalesce{}), without);
  });
}

TEST(routing, each_hop_is_a_message_of_the_ledger_and_counted_as_forwarded) {
  run_worlds(simulated("sim", {}), 6, [](world& w) {
    auto token = w.message<int>([](int) {}, route{ring{}}, coalesce{});
    w.epoch([&] {
      if (w.rank() == 1) token.send(4, 1);
    });
    const message_counters seen = token.counters();
    EXPECT_EQ(seen.sent, w.rank() == 1 ? 1u : 0u);
    EXPECT_EQ(seen.handled, w.rank() == 4 ? 1u : 0u);
    EXPECT_EQ(seen.forwarded, w.rank() == 2 || w.rank() == 3 ? 1u : 0u);
    const core::message_counts wire = w.endpoint().counts().of(token.id());
    EXPECT_EQ(wire.sent, seen.sent + seen.forwarded);
    EXPECT_EQ(wire.handled, seen.handled + seen.forwarded);
  });
}

TEST(routing, a_flush_sends_off_the_packet_in_which_messages_to_the_rank_leave) {
  run_worlds(simulated("sim", {}), 9, [](world& w) {
    auto token = w.message<int>([](int) {}, route{grid{}}, coalesce{});
    w.epoch([&] {
      if (w.rank() != 0) return;
      const auto left_for = [&](rank_t peer) { return w.endpoint().counts().of(token.id(), peer).sent; };
      token.send(8, 1);
      EXPECT_EQ(grid(9).next_hop(0, 8), 2);
      token.flush(1);
      EXPECT_EQ(left_for(2), 0u) << "it was for another rank";
      token.flush(8);
      EXPECT_EQ(left_for(2), 1u);
    });
  });
}

TEST(routing, few_messages_wait_where_there_is_no_credit) {
  run_worlds(simulated("sim", {.credits = 1}), 16, [](world& w) {
    visit_all(w, route{grid{}}, coalesce{});
    visit_all(w, route{grid{}}, coalesce{.count = 2});
  });
}

/// Gives ranks the nodes that a test wants.
class with_nodes final : public fabric::decorator {
 public:
  with_nodes(amity::fabric::fabric& inner, std::vector<rank_t> nodes) : decorator(inner), nodes_(std::move(nodes)) {}
  rank_t node_of(rank_t peer) const noexcept override { return nodes_[static_cast<std::size_t>(peer)]; }

 private:
  std::vector<rank_t> nodes_;
};

TEST(routing, over_uneven_nodes_cross_once) {
  const std::vector<rank_t> nodes{0, 1, 1, 0, 1, 5, 1, 0};
  simulated("sim", {}).run(8, {}, [&](fabric::fabric& own) {
    with_nodes uneven(own, nodes);
    world w(uneven, {});
    visit_all(w, route{node_aware{}}, coalesce{});
    auto token = w.message<int>([](int) {}, route{node_aware{}}, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) token.send(dest, 1);
    });
    int across = 0;
    for (rank_t peer = 0; peer < w.size(); ++peer) {
      if (w.endpoint().counts().of(token.id(), peer).sent > 0 && !uneven.same_node(peer)) ++across;
    }
    EXPECT_EQ(across, 2) << "one rank on each of the other nodes";
    w.barrier();
  });
}

// Ranks with several threads: a route leads over ranks, and `parallel` says which of their threads.

template <class... Policies>
constexpr bool keyed = ((detail::is_parallel<Policies> && !std::same_as<Policies, parallel<any_thread>>) || ...);

/// Keys are numbers below 100, and 3 ranks x 2 threads send each of them to each rank.
/// Returns whether any was forwarded.
template <class T, class Number, class... Policies>
bool send_from_threads(world& w, Number number, Policies... policies) {
  std::vector<std::atomic<std::uint32_t>> counts(100);
  std::atomic<std::uint32_t> on_wrong_threads = 0;
  auto count = w.message<T>(
      [&](const T& value, auto& self) {
        const auto key = static_cast<std::size_t>(number(value));
        ++counts[key];
        if (self.thread_index() != static_cast<rank_t>(key) % w.threads()) ++on_wrong_threads;
      },
      policies...);
  w.epoch([&](thread& t) {
    for (int key = 0; key < 100; ++key) {
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        if constexpr (std::same_as<T, std::string>) {
          count.on(t).send(dest, std::to_string(key));
        } else {
          count.on(t).send(dest, static_cast<T>(key));
        }
      }
    }
  });
  for (const auto& each : counts) EXPECT_EQ(each, static_cast<unsigned>(w.size() * w.threads()));
  if (keyed<Policies...>) {
    EXPECT_EQ(on_wrong_threads, 0u);
  }
  const message_counters seen = count.counters();
  EXPECT_EQ(w.sum(seen.sent), w.sum(seen.handled));
  return w.sum(seen.forwarded) > 0;
}

TEST(routing, leads_over_ranks_whose_threads_the_policy_parallel_chooses) {
  const auto itself = [](std::uint64_t key) { return key; };
  const auto parsed = [](const std::string& key) { return static_cast<std::uint64_t>(std::stoi(key)); };
  for (const std::string fabric : {"sim", "threads"}) {
    testing::run_job(testing::shape(fabric, 3, 2, {"AMITY_SIM_NODE_RANKS=2"}), [&](world& w) {
      EXPECT_TRUE(send_from_threads<std::uint64_t>(w, itself, route{ring{}}, coalesce{}));
      EXPECT_TRUE(send_from_threads<std::uint64_t>(w, itself, route{hypercube{}}, parallel{}, coalesce{}));
      EXPECT_TRUE(send_from_threads<std::uint64_t>(w, itself, route{ring{}}, parallel{itself}, coalesce{.count = 5}));
      EXPECT_EQ(send_from_threads<std::uint64_t>(w, itself, route{node_aware{}}, parallel{itself}), fabric == "sim")
          << "where there are nodes";
      EXPECT_TRUE(send_from_threads<std::string>(w, parsed, route{ring{}}, parallel{parsed}, coalesce{}));
    });
  }
}

}  // namespace
}  // namespace amity
