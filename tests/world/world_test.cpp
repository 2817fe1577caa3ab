/// What a world offers besides messages: collectives, clocks, counters, polls, and epochs that follow one another.

#include "amity/world/world.hpp"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/sanitizer.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

class worlds : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(world, worlds, testing::every_job(), testing::job_name);

TEST_P(worlds, know_rank_and_size) {
  const rank_t ranks = std::get<rank_t>(GetParam());
  run([ranks](world& w) {
    EXPECT_EQ(w.size(), ranks);
    const auto size = static_cast<std::uint64_t>(ranks), rank = static_cast<std::uint64_t>(w.rank());
    EXPECT_LT(rank, size);
    EXPECT_EQ(w.sum(rank), size * (size - 1) / 2);
    EXPECT_EQ(w.sum(rank * rank), (size - 1) * size * (2 * size - 1) / 6);
  });
}

TEST_P(worlds, reduce_unsigned_numbers) {
  run([](world& w) {
    const auto rank = static_cast<std::uint64_t>(w.rank()), last = static_cast<std::uint64_t>(w.size() - 1);
    constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(w.max(rank), last);
    EXPECT_EQ(w.min(rank), 0u);
    EXPECT_EQ(w.max(rank == last ? largest : rank), largest);
    EXPECT_EQ(w.min(largest - rank), largest - last);
    EXPECT_EQ(w.sum(rank == 0 ? largest : std::uint64_t{rank == last}), last == 0 ? largest : 0u) << "modulo 2^64";
  });
}

TEST_P(worlds, reduce_signed_numbers) {
  run([](world& w) {
    const std::int64_t rank = w.rank(), last = w.size() - 1;
    EXPECT_EQ(w.sum(-rank), -last * (last + 1) / 2);
    EXPECT_EQ(w.min(-rank), -last);
    EXPECT_EQ(w.max(-rank - 1), -1);
    EXPECT_EQ(w.min(rank == last ? std::numeric_limits<std::int64_t>::min() : rank),
              std::numeric_limits<std::int64_t>::min());
  });
}

TEST_P(worlds, reduce_floating_point_numbers) {
  run([](world& w) {
    const double rank = w.rank(), last = w.size() - 1;
    EXPECT_EQ(w.sum(0.5 * rank), 0.25 * last * (last + 1));
    EXPECT_EQ(w.min(-rank), -last);
    EXPECT_EQ(w.max(rank - 0.5), last - 0.5);
    EXPECT_EQ(w.max(rank == last ? std::numeric_limits<double>::infinity() : rank),
              std::numeric_limits<double>::infinity());
    // Sums that depend on their order come out alike on all ranks, and each time.
    const double once = w.sum(1.0 / (rank + 3)), again = w.sum(1.0 / (rank + 3));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(once), std::bit_cast<std::uint64_t>(again));
    EXPECT_EQ(w.min(once), w.max(once));
  });
}

// Whoever comes out of a barrier knows that all have come to it.
TEST_P(worlds, barriers_hold_back) {
  run([](world& w) {
    int arrived = 0;
    const auto arrivals = w.share(arrived);
    for (int round = 1; round <= 20; ++round) {
      w.epoch([&] {
        for (rank_t dest = 0; dest < w.size(); ++dest)
          w.async(
              dest, [](int& here) { ++here; }, arrivals);
        w.barrier();
        w.barrier();
      });
      EXPECT_EQ(arrived, round * w.size());
    }
  });
}

// Epochs are numbered in a circle of 255; ranks that are ahead send into epochs that others have not begun.
TEST_P(worlds, run_many_epochs_one_after_the_other) {
  run([](world& w) {
    constexpr int epochs = 300;
    int arrived = 0, expected = 0;
    auto note = w.message<int>(
        [&](int epoch) {
          EXPECT_EQ(epoch, expected) << "handled in another epoch than it was sent in";
          ++arrived;
        },
        coalesce{});
    for (; expected < epochs; ++expected) {
      const auto total = w.epoch(
          [&] {
            for (rank_t dest = 0; dest < w.size(); ++dest) note.send(dest, expected);
          },
          [&] { return static_cast<std::uint64_t>(arrived); });
      EXPECT_EQ(total, static_cast<std::uint64_t>(w.size() * w.size() * (expected + 1)));
    }
    EXPECT_EQ(w.epochs().count(), static_cast<std::uint64_t>(epochs));
  });
}

TEST_P(worlds, sum_a_value_at_the_end_of_an_epoch) {
  run([](world& w) {
    EXPECT_EQ(w.epoch([] {}, [] { return std::uint64_t{2}; }), 2u * static_cast<std::uint64_t>(w.size()));
    const auto below_zero = static_cast<std::int64_t>(w.epoch([] {}, [&] { return static_cast<std::uint64_t>(-5); }));
    EXPECT_EQ(below_zero, -5 * w.size());
  });
}

TEST_P(worlds, make_and_end_message_types_between_epochs) {
  run([](world& w) {
    int kept_count = 0;
    auto kept = w.message<int>([&](int) { ++kept_count; });
    for (int round = 0; round < 10; ++round) {
      int passing_count = 0;
      const auto use = [&]<class T>(T value) {
        auto passing = w.message<T>([&](const T&) { ++passing_count; }, coalesce{});
        w.epoch([&] {
          kept.send((w.rank() + 1) % w.size(), 1);
          passing.send((w.rank() + 1) % w.size(), value);
        });
      };
      round % 2 == 0 ? use(1.5) : use(std::string("text"));
      EXPECT_EQ(passing_count, 1);
    }
    EXPECT_EQ(kept_count, 10);
  });
}

class some_worlds : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(world, some_worlds, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

TEST_P(some_worlds, count_their_traffic) {
  run([](world& w) {
    auto alone = w.message<std::uint32_t>([](std::uint32_t) {});
    auto large = w.message<std::string>([](const std::string&) {});
    const auto before = w.counters();
    EXPECT_EQ(before.messages_sent + before.messages_handled + before.packets_sent + before.bytes_sent, 0u);
    w.epoch([&] {
      for (int i = 0; i < 7; ++i) alone.send((w.rank() + 1) % w.size(), 1u);
    });
    const auto after = w.counters();
    EXPECT_EQ(after.messages_sent, 7u);
    EXPECT_EQ(after.messages_handled, 7u);
    EXPECT_EQ(after.packets_sent, 7u);
    EXPECT_EQ(after.bytes_sent, 28u);
    w.epoch([&] { large.send((w.rank() + 1) % w.size(), std::string(100'000, 'x')); });
    EXPECT_EQ(w.counters().messages_sent, 8u) << "a message in fragments is one message";
    EXPECT_EQ(w.counters().messages_handled, 8u);
    EXPECT_GT(w.counters().bytes_sent, 100'028u);
  });
}

TEST_P(some_worlds, poll_until_there_is_nothing_left) {
  run([](world& w) {
    bool arrived = false;
    auto note = w.message<int>([&](int) { arrived = true; }, coalesce{});
    w.barrier();
    w.epoch([&] {
      note.send((w.rank() + 1) % w.size(), 1);
      EXPECT_TRUE(w.poll()) << "it has sent off what was collected, or handled something";
      while (!arrived) w.poll();
    });
    // What ends an epoch may still be under way when a rank has left it.
    int polls = 0;
    while (polls < 1000 && w.poll()) ++polls;
    EXPECT_LT(polls, 1000);
  });
}

// It waits in a loop of its own, so that no call of the library waits for it.
TEST(world, a_rank_that_polls_learns_that_the_job_has_ended) {
  for (const auto& kind : {testing::simulated("sim", {}), testing::threads("threads")}) {
    const auto failure = testing::failure_of([&] {
      run_worlds(kind, 2, [](world& w) {
        if (w.rank() == 1) throw std::runtime_error("the program's own");
        for (;;) w.poll();
      });
    });
    EXPECT_EQ(failure, "the program's own") << kind.name;
  }
}

// A job of thousands of ranks pays for the peers that it talks to, not for all that there are.
TEST(world, memory_does_not_grow_with_the_square_of_the_ranks) {
  if (testing::sanitizer_divisor > 1) GTEST_SKIP() << "a sanitizer's own memory would count, too";
  const auto resident_mib = [] {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    long pages = 0, resident = 0;
    EXPECT_EQ(std::fscanf(file, "%ld %ld", &pages, &resident), 2);
    std::fclose(file);
    return resident * 4096 >> 20;
  };
  long peak = 0;
  const long before = resident_mib();
  run_worlds(testing::simulated("sim", {.stack_bytes = 64 << 10}), 2048, [&](world& w) {
    auto message = w.message<int>([](int) {}, coalesce{});
    w.epoch([&] { message.send((w.rank() + 1) % w.size(), 1); });
    if (w.rank() == 0) peak = resident_mib();
  });
  EXPECT_LT(peak - before, 200);
}

}  // namespace
}  // namespace amity
