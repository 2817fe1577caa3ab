/// Coalescing: which messages share a packet, and when it leaves.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::configured;
using testing::run_worlds;
using testing::simulated;

struct three_words {
  std::uint32_t words[3];
};

// Larger than what is coalesced by default. The simulations of these tests are checked, which takes 16 bytes a packet.
constexpr std::size_t fabric_packet_bytes = 16'000;
constexpr std::size_t sim_packet_bytes = fabric_packet_bytes + 16;

std::size_t standard_bytes() { return static_cast<std::size_t>(settings().integer("AMITY_COALESCE_BYTES")); }

/// What sending `messages` messages from rank 0 to rank 1 has cost, and how many came in each packet. On the
/// simulation, with few enough packets never to wait for a credit.
struct shipment {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::vector<std::size_t> batches;
};

template <class T, class... Policies>
shipment ship(std::size_t messages, const settings& config, Policies... policies) {
  shipment seen;
  run_worlds(
      simulated("sim", {.packet_bytes = sim_packet_bytes}), 2,
      [&](world& w) {
        auto message =
            w.message<T>([&](std::span<const T> batch) { seen.batches.push_back(batch.size()); }, policies...);
        w.epoch([&] {
          if (w.rank() != 0) return;
          for (std::size_t i = 0; i < messages; ++i) message.send(1, T{});
        });
        if (w.rank() == 0) {
          EXPECT_EQ(w.counters().messages_sent, messages);
          seen.packets = w.counters().packets_sent;
          seen.bytes = w.counters().bytes_sent;
        } else {
          EXPECT_EQ(w.counters().messages_handled, messages);
        }
      },
      config);
  return seen;
}

using sizes = std::vector<std::size_t>;

TEST(coalesce, packets_and_bytes_are_counted) {
  const shipment alone = ship<std::uint64_t>(5, {}), together = ship<std::uint64_t>(9, {}, coalesce{.count = 4});
  EXPECT_EQ(alone.packets, 5u);
  EXPECT_EQ(alone.bytes, 40u);
  EXPECT_EQ(alone.batches, (sizes{1, 1, 1, 1, 1}));
  EXPECT_EQ(together.packets, 3u);
  EXPECT_EQ(together.bytes, 9u * 8);
}

TEST(coalesce, by_default_a_packet_holds_what_the_setting_says) {
  const std::size_t fit = standard_bytes() / 8;
  EXPECT_EQ(ship<std::uint64_t>(2 * fit, {}, coalesce{}).batches, (sizes{fit, fit}));
  EXPECT_EQ(ship<std::uint64_t>(2 * fit + 1, {}, coalesce{}).batches, (sizes{fit, fit, 1}));
  EXPECT_EQ(ship<std::uint64_t>(20, configured({{"AMITY_COALESCE_BYTES", "64"}}), coalesce{}).batches,
            (sizes{8, 8, 4}));
}

TEST(coalesce, is_bounded_by_count_bytes_and_the_fabric) {
  const std::size_t fit = standard_bytes() / 8, words = fabric_packet_bytes / 8;
  const struct {
    std::size_t messages;  ///< of 8 bytes
    coalesce bounds;
    sizes batches;
  } cases[] = {{11, {.count = 4}, {4, 4, 3}},
               {3, {.count = 1}, {1, 1, 1}},
               {11, {.bytes = 32}, {4, 4, 3}},
               {11, {.bytes = 39}, {4, 4, 3}},
               {5, {.count = 2, .bytes = 32}, {2, 2, 1}},
               {5, {.count = 4, .bytes = 16}, {2, 2, 1}},
               {fit + 1, {.count = std::numeric_limits<std::size_t>::max()}, {fit, 1}},
               {fit + 1, {.count = std::size_t{1} << 61}, {fit, 1}},
               {words + 1, {.bytes = std::size_t{1} << 20}, {words, 1}}};
  for (const auto& [messages, bounds, batches] : cases) {
    EXPECT_EQ(ship<std::uint64_t>(messages, {}, bounds).batches, batches) << bounds.count << ", " << bounds.bytes;
  }
}

TEST(coalesce, puts_only_whole_messages_into_a_packet) {
  const std::size_t triples = fabric_packet_bytes / 12;
  EXPECT_EQ(ship<three_words>(11, {}, coalesce{.bytes = 64}).batches, (sizes{5, 5, 1}));
  EXPECT_EQ(ship<three_words>(triples + 1, {}, coalesce{.count = 100'000, .bytes = 100'000}).batches,
            (sizes{triples, 1}));
  EXPECT_EQ(ship<three_words>(3, {}, coalesce{.bytes = 1}).batches, (sizes{1, 1, 1})) << "less than one";
}

// Encoded messages share packets behind a count of four bytes; a string of four characters takes twelve.
std::uint64_t packets_of_strings(std::size_t messages, auto... policies) {
  std::uint64_t packets = 0;
  run_worlds(simulated("sim", {.packet_bytes = sim_packet_bytes}), 2, [&](world& w) {
    std::size_t handled = 0;
    auto message = w.message<std::string>(
        [&](const std::string& text) {
          EXPECT_EQ(text, "four");
          ++handled;
        },
        policies...);
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (std::size_t i = 0; i < messages; ++i) message.send(1, "four");
    });
    EXPECT_EQ(handled, w.rank() == 1 ? messages : 0);
    if (w.rank() == 0) packets = w.counters().packets_sent;
  });
  return packets;
}

TEST(coalesce, bounds_hold_for_encoded_messages) {
  EXPECT_EQ(packets_of_strings(7), 7u);
  const std::size_t fit = (standard_bytes() - 4) / 12;
  EXPECT_EQ(packets_of_strings(fit, coalesce{}), 1u);
  EXPECT_EQ(packets_of_strings(fit + 1, coalesce{}), 2u);
  EXPECT_EQ(packets_of_strings(7, coalesce{.count = 3}), 3u);
  EXPECT_EQ(packets_of_strings(10, coalesce{.bytes = 64}), 2u);
  EXPECT_EQ(packets_of_strings(11, coalesce{.bytes = 64}), 3u);
  EXPECT_EQ(packets_of_strings(5, coalesce{.count = 2, .bytes = 64}), 3u);
  EXPECT_EQ(packets_of_strings(5, coalesce{.count = 5, .bytes = 16}), 5u);
  EXPECT_EQ(packets_of_strings(5, coalesce{.bytes = 3}), 5u);
  EXPECT_EQ(packets_of_strings(5, coalesce{.count = std::numeric_limits<std::size_t>::max()}), 1u);
}

TEST(coalesce, flush_sends_what_is_collected_for_one_rank) {
  run_worlds(simulated("sim", {}), 3, [](world& w) {
    auto message = w.message<int>([](int) {}, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) message.send(dest, 1);
      EXPECT_EQ(w.counters().packets_sent, 0u);
      message.flush(2);
      EXPECT_EQ(w.counters().packets_sent, 1u);
      message.flush(2);
      EXPECT_EQ(w.counters().packets_sent, 1u) << "there was nothing to flush";
      message.send(2, 2);
      message.flush();
      EXPECT_EQ(w.counters().packets_sent, 4u);
      message.flush();
      EXPECT_EQ(w.counters().packets_sent, 4u);
    });
    EXPECT_EQ(w.counters().packets_sent, 4u);
  });
}

TEST(coalesce, flush_concerns_only_its_own_message_type) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    auto number = w.message<int>([](int) {}, coalesce{});
    auto text = w.message<std::string>([](const std::string&) {}, coalesce{});
    auto alone = w.message<int>([](int) {});
    w.epoch([&] {
      number.send(1, 1);
      text.send(1, "one");
      alone.flush();
      alone.flush(1);
      EXPECT_EQ(w.counters().packets_sent, 0u);
      text.flush();
      EXPECT_EQ(w.counters().packets_sent, 1u);
      number.flush(1);
      EXPECT_EQ(w.counters().packets_sent, 2u);
    });
  });
}

TEST(coalesce, handlers_may_flush) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    std::vector<std::size_t> batches;
    auto leaf = w.message<int>([&](std::span<const int> batch) { batches.push_back(batch.size()); }, coalesce{});
    auto root = w.message<int>([&](int) {
      leaf.send(1, 1);
      leaf.send(1, 2);
      leaf.flush(1);
      leaf.send(1, 3);
    });
    w.epoch([&] {
      if (w.rank() == 0) root.send(0, 0);
    });
    EXPECT_EQ(batches, w.rank() == 1 ? (sizes{2, 1}) : sizes{});
  });
}

// Rank 1 gives back no credit until it resumes. Rank 0, which waits for one, still sends what it has collected for
// rank 2.
TEST(coalesce, wait_for_credit_sends_collected_messages) {
  constexpr std::uint64_t stop_ns = 50'000, resume_ns = 5'000'000;
  std::uint64_t handled_ns = 0;
  const fabric::sim::sim_options one_stops{.credits = 2,
                                           .stopped_ranks = {{.rank = 1, .from_ns = stop_ns, .until_ns = resume_ns}}};
  run_worlds(simulated("one_stops", one_stops), 3, [&](world& w) {
    auto collected = w.message<int>([&](int) { handled_ns = w.now_ns(); }, coalesce{});
    auto alone = w.message<int>([](int) {});
    w.epoch([&] {
      testing::idle_until(w.endpoint().transport(), stop_ns + 10'000);
      if (w.rank() != 0) return;
      collected.send(2, 1);
      for (int i = 0; i < 50; ++i) alone.send(1, i);
    });
  });
  EXPECT_GT(handled_ns, stop_ns);
  EXPECT_LT(handled_ns, resume_ns);
}

class idle_flush : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, idle_flush, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

// The request, and the answer too, would lie in their packets for ever if the ranks waited for more to send.
TEST_P(idle_flush, a_message_that_somebody_waits_for_does_not_linger) {
  run([](world& w) {
    int answers = 0;
    std::function<void(rank_t)> send_answer;
    auto ask = w.message<rank_t>([&](rank_t source) { send_answer(source); }, coalesce{});
    auto answer = w.message<std::string>([&](const std::string&) { ++answers; }, coalesce{});
    send_answer = [&](rank_t dest) { answer.send(dest, "here"); };
    w.epoch([&] {
      ask.send((w.rank() + 1) % w.size(), w.rank());
      while (answers == 0) w.poll();
      w.barrier();
      ask.send((w.rank() + 1) % w.size(), w.rank());
      w.endpoint().wait_until("the answer", [&] { return answers == 2; });
    });
    EXPECT_EQ(answers, 2);
  });
}

// Rank 0 is never idle: it is kept busy by its own messages, until the answer to a message that it has collected.
TEST_P(idle_flush, a_busy_rank_does_not_sit_on_its_messages) {
  run([](world& w) {
    bool answered = false;
    std::function<void()> send_answer;
    auto spin = w.message<int>([&](int, auto& self) {
      if (!answered) self.send(w.rank(), 0);
    });
    auto ask = w.message<int>([&](int) { send_answer(); }, coalesce{});
    auto answer = w.message<int>([&](int) { answered = true; });
    send_answer = [&] { answer.send(0, 0); };
    w.epoch([&] {
      if (w.rank() != 0) return;
      spin.send(0, 0);
      ask.send(1, 0);
    });
    EXPECT_EQ(answered, w.rank() == 0);
  });
}

// Rank 0 never waits: it sends, to itself or to others, until the answer to a message that its handler has collected.
TEST_P(idle_flush, a_rank_that_only_sends_does_not_sit_on_its_messages) {
  run([](world& w) {
    for (rank_t to = 0; to < w.size(); ++to) {
      bool answered = false;
      std::uint64_t sent = 0;
      auto work = w.message<int>([](int) {});
      auto answer = w.message<int>([&](int) { answered = true; });
      auto ask = w.message<int>([&](int) { answer.send(0, 1); }, coalesce{});
      auto begin = w.message<int>([&](int) { ask.send(w.size() - 1, 1); });
      w.epoch([&] {
        if (w.rank() == w.size() - 1) begin.send(0, 1);
        if (w.rank() != 0) return;
        while (!answered && sent < 20'000'000) {
          work.send(to, 1);
          ++sent;
        }
        EXPECT_TRUE(answered) << "after " << sent << " messages to rank " << to;
      });
    }
  });
}

TEST_P(idle_flush, a_barrier_sends_off_what_was_collected_before) {
  run([](world& w) {
    int arrived = 0;
    auto note = w.message<int>([&](int) { ++arrived; }, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) note.send(dest, 1);
      w.barrier();
      const auto packets = w.counters().packets_sent;
      EXPECT_EQ(packets, static_cast<std::uint64_t>(w.size()));
    });
    EXPECT_EQ(arrived, w.size());
  });
}

}  // namespace
}  // namespace amity
