/// Packets whose size is found while messages are sent: the search, by costs that are made up, and what it is used for.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "amity/base/random.hpp"
#include "amity/message/packet_size_tuner.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using detail::packet_size_tuner;
using testing::configured;
using testing::run_worlds;
using testing::simulated;

/// Picoseconds a byte in packets of a size.
using cost_curve = std::function<double(std::size_t)>;

/// What every packet costs, what every byte costs, and what bytes cost beyond a cache.
cost_curve typical(double packet_ns, std::size_t cache_bytes) {
  return [=](std::size_t size) {
    const double bytes = static_cast<double>(size);
    return 1000 * packet_ns / bytes + 100 * std::max(1.0, std::sqrt(bytes / static_cast<double>(cache_bytes)));
  };
}

/// Sends bytes through a tuner, at costs that each measurement may see disturbed.
class synthetic_sender {
 public:
  explicit synthetic_sender(std::size_t bytes_max, std::uint64_t seed = 1, std::uint64_t disturbed_percent = 0)
      : tuner_(bytes_max), random_(seed), disturbed_percent_(disturbed_percent) {}

  /// Returns what a byte has cost on average.
  double send(std::uint64_t bytes, const cost_curve& cost_ps) {
    const std::uint64_t begin_ps = now_ps_;
    for (std::uint64_t sent = 0; sent < bytes;) {
      const std::size_t size = tuner_.bytes();
      sent += size;
      now_ps_ += static_cast<std::uint64_t>(cost_ps(size) * static_cast<double>(size) * factor_);
      if (tuner_.sent(size, 1)) {
        tuner_.measure(now_ps_ / 1000);
        factor_ = random_.below(100) < disturbed_percent_ ? 1 + 0.01 * static_cast<double>(random_.below(100)) : 1.0;
      }
    }
    return static_cast<double>(now_ps_ - begin_ps) / static_cast<double>(bytes);
  }

 private:
  packet_size_tuner tuner_;
  splitmix64 random_;
  std::uint64_t disturbed_percent_;
  std::uint64_t now_ps_ = 0;
  double factor_ = 1;
};

double best_of(const cost_curve& cost_ps, std::size_t bytes_max) {
  double best = cost_ps(bytes_max);
  for (std::size_t size = bytes_max; size >= 64; size /= 2) best = std::min(best, cost_ps(size));
  return best;
}

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(packet_size_tuner, finds_the_best_size_wherever_it_is) {
  for (const double packet_ns : {0.1, 1.0, 10.0, 100.0, 10'000.0}) {
    for (const std::size_t cache_bytes :
         {std::size_t{64}, std::size_t{1} << 10, std::size_t{1} << 14, std::size_t{1} << 20}) {
      for (const std::size_t bytes_max : {std::size_t{64} << 10, std::size_t{4144}, std::size_t{512}}) {
        const cost_curve cost = typical(packet_ns, cache_bytes);
        synthetic_sender sender(bytes_max);
        sender.send(400 * mib, cost);
        EXPECT_LE(sender.send(200 * mib, cost), 1.1 * best_of(cost, bytes_max))
            << packet_ns << " ns a packet, cache of " << cache_bytes << ", at most " << bytes_max;
      }
    }
  }
}

TEST(packet_size_tuner, is_not_led_astray_by_disturbances) {
  const cost_curve cost = typical(100, 1 << 14);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    synthetic_sender disturbed(64 << 10, seed, 30);
    disturbed.send(400 * mib, cost);
    // The disturbances alone cost 15 %.
    EXPECT_LE(disturbed.send(400 * mib, cost), 1.15 * 1.12 * best_of(cost, 64 << 10)) << "seed " << seed;
  }
}

TEST(packet_size_tuner, costs_next_to_nothing_once_it_has_settled) {
  const cost_curve cost = typical(1000, 1 << 13);
  synthetic_sender sender(64 << 10);
  sender.send(2000 * mib, cost);
  EXPECT_LE(sender.send(2000 * mib, cost), 1.01 * best_of(cost, 64 << 10));
}

TEST(packet_size_tuner, follows_when_the_best_size_moves) {
  synthetic_sender sender(64 << 10);
  const cost_curve few_bytes = typical(1, 256), many_bytes = typical(10'000, 1 << 20);
  for (const cost_curve& cost : {many_bytes, few_bytes, many_bytes}) {
    sender.send(2000 * mib, cost);
    EXPECT_LE(sender.send(200 * mib, cost), 1.1 * best_of(cost, 64 << 10));
  }
}

TEST(packet_size_tuner, does_not_count_time_in_which_nobody_sent) {
  // Every other epoch begins after a long pause. Packets of 64 KiB are best.
  packet_size_tuner tuner(64 << 10);
  std::uint64_t now_ns = 0;
  for (int epoch = 0; epoch < 200; ++epoch) {
    now_ns += tuner.bytes() > 8192 ? 100'000'000 : 0;
    tuner.restart(now_ns);
    for (int packet = 0; packet < 500; ++packet) {
      const std::size_t size = tuner.bytes();
      now_ns += 1000;
      if (tuner.sent(size, 1)) tuner.measure(now_ns);
    }
  }
  EXPECT_EQ(tuner.bytes(), std::size_t{64} << 10);
}

TEST(packet_size_tuner, stays_within_its_bounds) {
  for (const std::size_t bytes_max : {std::size_t{1}, std::size_t{64}, std::size_t{100}, std::size_t{1} << 30}) {
    packet_size_tuner tuner(bytes_max);
    std::uint64_t now_ns = 0;
    for (int packet = 0; packet < 100'000; ++packet) {
      const std::size_t size = tuner.bytes();
      ASSERT_GE(size, 64u);
      ASSERT_LE(size, std::clamp<std::size_t>(bytes_max, 64, 64 << 10));
      if (tuner.sent(size, 1)) tuner.measure(now_ns += 1000);
    }
  }
}

/// What rank 0 of two has sent in packets whose size is found, on the simulation.
template <class T>
std::vector<std::size_t> batches(std::size_t messages, const T& value, coalesce how) {
  std::vector<std::size_t> seen;
  run_worlds(simulated("sim", {.packet_bytes = 16'016}), 2, [&](world& w) {
    std::size_t handled = 0;
    auto message = w.message<T>(
        [&](const T& got) {
          EXPECT_EQ(got, value);
          ++handled;
        },
        how);
    w.epoch([&] {
      for (std::size_t i = 0; i < messages && w.rank() == 0; ++i) message.send(1, value);
    });
    EXPECT_EQ(handled, w.rank() == 1 ? messages : 0);
    if (w.rank() == 0) seen = {w.counters().packets_sent, w.counters().bytes_sent};
  });
  return seen;
}

TEST(automatic, packets_grow_where_each_costs_much) {
  // At 300 ns a packet and 40 ps a byte packets of 16,000 bytes are a fifth cheaper than those of 8 KiB.
  constexpr std::size_t messages = 4'000'000;
  const auto sent = batches<std::uint64_t>(messages, 7, coalesce::automatic);
  EXPECT_EQ(sent[1], messages * 8);
  EXPECT_LT(sent[0], messages * 8 / 14'000);
  EXPECT_EQ(batches<std::uint64_t>(messages, 7, coalesce::automatic), sent) << "the same figures give the same sizes";
}

TEST(automatic, the_bounds_of_the_policy_hold) {
  EXPECT_EQ(batches<std::uint64_t>(1000, 7, coalesce{.count = 10, .tuned = true})[0], 100u);
  EXPECT_EQ(batches<std::uint64_t>(1000, 7, coalesce{.bytes = 80, .tuned = true})[0], 100u);
}

TEST(automatic, messages_of_any_size_travel) {
  struct large {
    std::uint8_t bytes[5000];
    bool operator==(const large&) const = default;
  };
  const large value{{1, 2, 3}};
  EXPECT_EQ(batches(30, value, coalesce::automatic)[0], 10u);
  EXPECT_EQ(batches(100, std::string(9000, 'x'), coalesce::automatic)[0], 100u);
  batches(10'000, std::string("four"), coalesce::automatic);
  batches(3, std::string(40'000, 'y'), coalesce::automatic);
}

class automatic_size : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, automatic_size, testing::every_job(), testing::job_name);

TEST_P(automatic_size, every_message_is_handled_while_sizes_change) {
  run([](world& w) {
    std::uint64_t sum = 0;
    auto add = w.message<std::uint64_t>([&](std::uint64_t value) { sum += value; }, coalesce::automatic);
    constexpr std::uint64_t messages = 30'000;
    for (int epoch = 0; epoch < 2; ++epoch) {
      w.epoch([&] {
        for (std::uint64_t i = 0; i < messages; ++i)
          add.send(static_cast<rank_t>(i % static_cast<std::uint64_t>(w.size())), i);
      });
    }
    EXPECT_EQ(w.sum(sum), static_cast<std::uint64_t>(w.size()) * messages * (messages - 1));
  });
}

}  // namespace
}  // namespace amity
